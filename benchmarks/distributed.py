"""Several processes: seconds, bytes and optima, ``python -m benchmarks.distributed PART...``.

Each fit is a job of MPI of its own, all processes on this machine, more than there are cores where
there are that many. What a part compares takes turns. Fits that are stored already are left as they
are, and a run ends after ``--seconds``: the next one goes on from there. ``--again`` makes the fits
of a part anew, and those that failed are made anew in any case.

| part | what |
|---|---|
| `speed` | two processes, and two threads, beside one: seconds to the same gap |
| `passes` | the same for passes over all rows, as in Figure 2 of Alber et al. (2017) |
| `authors` | beside the program of these authors, to their stopping rule |
| `processes` | seconds and bytes of a pass by the number of processes: what the model is made of |
| `singles` | bytes of leagues of many classes and of one |
| `validation` | test errors and density beside table B.1 |
| `optima` | every machine on 1, 2, 3, 4 and 7 processes |
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from benchmarks.distributed_report import AUTHORS, TABLE_B1, write
from benchmarks.provenance import add_options, open_results
from benchmarks.ranks import Job, measure

PROCESSES = (1, 2, 3, 4, 7)
MACHINES = ("ww", "cs", "llw", "adm", "ats", "atm", "mmr", "rm", "ovr")
TOLERANCES = {"letter": 1e-2, "clinc150": 1e-2, "news20": 1e-2, "onet": 5e-2}  # of `optima`
ONE_PROCESS = {"shrinking": False, "class_lists": False, "second_order": False}


def sides(job: Job) -> list[Job]:
    """One process, one with two threads, two of them, and two fits of one process at once."""
    others = (replace(job, threads=2), replace(job, processes=2), replace(job, at_once=2))
    return [job, *others]


def speed() -> list[Job]:
    return [
        side
        for data in ("onet", "lshtc-small")
        for machine in ("ww", "llw")
        for side in sides(Job(data, machine))
    ]


def whole_passes(
    data: str, machine: str, solver: str, processes: int, epochs: int, **options: object
) -> Job:
    """Passes over all rows, without shrinking."""
    if processes == 1:
        job = Job(data, machine, solver="block-descent", options=ONE_PROCESS)
        return replace(job, tol=0.0, max_iter=epochs)
    if solver == "local-descent":
        options["class_lists"] = False
    options = {"shrinking": False, "epochs": epochs} | options
    return Job(data, machine, processes, solver=solver, options=options)


def passes(data: Iterable[str] = ("lshtc-small", "growth-1000")) -> list[Job]:
    jobs = []
    for name in data:
        for machine, solver, epochs in (("ww", "leagues", 10), ("llw", "mean-weights", 2)):
            one, two = (whole_passes(name, machine, solver, p, epochs) for p in (1, 2))
            jobs += [one, replace(one, threads=2), two, replace(one, at_once=2)]
    return jobs


def authors() -> list[Job]:
    return [
        replace(Job(data, machine, tol=0.1, stopping="kkt"), processes=p, threads=t)
        for data, machine in AUTHORS
        for p, t in ((1, 1), (1, 2), (2, 1))
    ]


def processes() -> list[Job]:
    jobs = []
    for data, counts in (("clinc150", (2, 3, 4, 8)), ("onet", (2, 3, 4, 8))):
        jobs += [whole_passes(data, machine, "", 1, 5) for machine in ("ww", "llw")]
        for count in counts:
            for machine, solver in (
                ("ww", "leagues"),
                ("ww", "local-descent"),
                ("llw", "mean-weights"),
            ):
                jobs.append(whole_passes(data, machine, solver, count, 5))
            jobs.append(whole_passes(data, "ww", "leagues", count, 5, sparse=False))
    long_rows = ("lshtc-small", "growth-1000")
    return jobs + [whole_passes(data, "llw", "mean-weights", 2, 10) for data in long_rows]


def singles() -> list[Job]:
    return [
        whole_passes(data, "ww", "leagues", count, 3)
        for data, counts in (("letter", (2, 4, 13)), ("news20", (2, 4, 10)))
        for count in counts
    ]


def validation() -> list[Job]:
    jobs = []
    for (data, scaling), solvers in TABLE_B1.items():
        for machine in solvers:
            dealt = "leagues" if machine == "ww" else "mean-weights"
            for C in (0.1, 1.0, 10.0):
                job = Job(data, machine, C=C, tol=1e-3, scaling=scaling, max_iter=300)
                two = replace(job, processes=2)
                jobs += [job, replace(two, solver=dealt), replace(two, solver="local-descent")]
    return jobs


def optima() -> list[Job]:
    return [
        Job(data, machine, count, tol=tol, max_iter=2000)
        for data, tol in TOLERANCES.items()
        for machine in MACHINES
        for count in PROCESSES
    ]


PARTS: dict[str, tuple[Callable[[], list[Job]], int]] = {  # and how often each fit is made
    "speed": (speed, 3),
    "authors": (authors, 3),
    "passes": (passes, 3),
    "processes": (processes, 1),
    "singles": (singles, 1),
    "validation": (validation, 1),
    "optima": (optima, 1),
}


def main() -> None:
    """Make the fits that are not stored yet, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--corpora", nargs="+", help="other ones for `passes`, as growth-3000")
    parser.add_argument("--rounds", type=int, help="how often each fit is made")
    parser.add_argument("--seconds", type=float, default=3600.0, help="then no fit is begun")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds of a fit")
    parser.add_argument("--again", action="store_true", help="also fits that are stored")
    add_options(parser)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    results = open_results("distributed", options)
    end = time.monotonic() + options.seconds
    for part in () if options.report else options.parts or PARTS:
        jobs, rounds = PARTS[part][0](), options.rounds or PARTS[part][1]
        if part == "passes" and options.corpora:
            jobs = passes(options.corpora)
        stored = results.content.setdefault(part, {})
        if options.again:
            for job in jobs:
                stored.pop(job.key, None)
        for done in range(rounds):
            for job in jobs:
                runs = stored.setdefault(job.key, {"runs": []})["runs"]
                if done == 0:
                    runs[:] = [run for run in runs if run.get("failed", "over").startswith("over")]
                if len(runs) > done:
                    continue
                if time.monotonic() > end:
                    break
                runs.append(results.sign(measure(job, options.limit)))
                print(part, job.key, runs[-1], flush=True)
                results.write()
        results.content[part] = {key: fit for key, fit in stored.items() if fit["runs"]}
    results.write()
    write(results)


if __name__ == "__main__":
    main()
