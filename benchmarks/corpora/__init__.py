"""Made-up text corpora with the shapes of LSHTC, for benchmarks of very many classes.

The corpora of Alber, Zimmert, Doğan and Kloft (2017) cannot be passed on. These have the sizes of
their table 2, a vocabulary and classes whose sizes follow power laws, and a tree of topics in which
neighbours share most of their words; on ``lshtc-small`` a linear WW machine finds them about as
hard as table 3 says: at C = 1 an error of 53.7 % and a density of 6.0 %, 54.6 and 5.7 in the paper.

``corpus("lshtc-large")`` gives rows and labels, ``corpus("lshtc-large", "test")`` the test part;
both are made once, kept in ``benchmarks/.cache/corpora`` and memory-mapped. Any other
shape is ``make(Shape(rows, features, classes, test_rows))``. ``python -m benchmarks.corpora
lshtc-large`` makes a preset from the command line.
"""

from benchmarks.corpora.generator import Corpus, make
from benchmarks.corpora.shapes import PRESETS, Shape, Style
from benchmarks.corpora.store import corpus

__all__ = ["PRESETS", "Corpus", "Shape", "Style", "corpus", "make"]
