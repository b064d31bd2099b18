"""What the scores of a kernel model need, in a file."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from polymargin.errors import ModelFileError
from polymargin.estimators import KernelSVM
from polymargin.kernel import NAMED_KERNELS, Kernel, NamedKernel, PrecomputedKernel
from polymargin.storage import Arrays, Fields, Tensors, put_csr, take_csr


def put_kernel(model: KernelSVM) -> tuple[dict[str, Any], Arrays]:
    """Support vectors, their coefficients and the kernel."""
    kernel: Any = model._kernel
    name = _kernel_name(kernel)
    if name is None or callable(model.kernel):
        raise ValueError(
            "a model whose kernel is a function cannot be saved: a file holds no code. Use a named "
            'kernel, or pass its values with kernel="precomputed"'
        )
    if name != model.kernel:
        raise ValueError(
            f"the model was fitted with kernel={name!r} and has kernel={model.kernel!r} now; "
            "fit it again or set the parameter back"
        )
    fields: dict[str, Any] = {"kernel": {"name": name, "bias": bool(kernel.bias)}}
    arrays: Arrays = {
        "support": np.asarray(model.support_, np.int64),
        "n_support": np.asarray(model.n_support_, np.int64),
        "dual_coef_transposed": model.dual_coef_.T,
        "intercept": model.intercept_,
    }
    if isinstance(kernel, NamedKernel):
        fields["kernel"] |= _put_parameters(kernel)
        is_sparse = sparse.issparse(model.support_vectors_)
        fields["support_vectors"] = "sparse" if is_sparse else "dense"
        if is_sparse:
            arrays |= put_csr("support_vectors", model.support_vectors_)
        else:
            arrays["support_vectors"] = model.support_vectors_
        centre = getattr(kernel, "centre", None)
        if centre is not None:
            arrays["centre"] = centre
    return fields, arrays


def _kernel_name(kernel: Kernel) -> str | None:
    if isinstance(kernel, NamedKernel):
        return kernel.name
    return "precomputed" if isinstance(kernel, PrecomputedKernel) else None


def take_kernel(model: KernelSVM, fields: Fields, tensors: Tensors) -> None:
    """Set what `put_kernel` has stored."""
    k, d = len(model.classes_), model.n_features_in_
    coef = tensors.floats("dual_coef_transposed", (None, k))
    n_sv = len(coef)
    model.dual_coef_ = coef.T
    model.intercept_ = tensors.alike("intercept", (k,), coef.dtype)
    model.support_ = tensors.integers("support", (n_sv,))
    model.n_support_ = tensors.integers("n_support", (k,))
    support, pairwise = model.support_, model.kernel == "precomputed"
    most = d if pairwise else 2**62
    if n_sv and (support[0] < 0 or support[-1] >= most or np.any(support[1:] <= support[:-1])):
        raise ModelFileError("tensor 'support' is not an ascending selection of the examples")
    if np.min(model.n_support_) < 0 or sum(model.n_support_.tolist()) != n_sv:
        raise ModelFileError(f"tensor 'n_support' does not add up to {n_sv} support vectors")
    if not pairwise:
        match fields.text("support_vectors"):
            case "dense":
                model.support_vectors_ = tensors.alike("support_vectors", (n_sv, d), coef.dtype)
            case "sparse":
                model.support_vectors_ = take_csr(tensors, "support_vectors", (n_sv, d))
                tensors.take("support_vectors.data", (coef.dtype,), (None,))
            case other:
                raise ModelFileError(f"support vectors are dense or sparse, not {other!r:.40}")
    model._kernel = _make_kernel(model, fields.part("kernel"), tensors)
    model.gamma_ = getattr(model._kernel, "gamma", np.nan)


def _make_kernel(model: KernelSVM, fields: Fields, tensors: Tensors) -> Kernel:
    name, bias = fields.text("name"), fields.flag("bias")
    if name != model.kernel:
        raise ModelFileError(f"the kernel is {name!r:.40} and the parameter {model.kernel!r:.40}")
    if name == "precomputed":
        return PrecomputedKernel(None, bias=bias)
    if name not in NAMED_KERNELS:
        raise ModelFileError(f"there is no kernel {name!r:.40}")
    cls, dtype = NAMED_KERNELS[name], model.dual_coef_.dtype
    parameters = _take_parameters(cls, fields)
    if not 0 < parameters["gamma"] <= float(np.finfo(dtype).max):
        raise ModelFileError(f"{fields.place}: gamma={parameters['gamma']} is out of range")
    if "centre" in tensors and "dense" in parameters:
        if not parameters["dense"]:
            raise ModelFileError("only a kernel of dense rows has a centre")
        parameters["centre"] = tensors.alike("centre", (model.n_features_in_,), dtype)
    return cls(**parameters, bias=bias)


# What a kernel may have beside rows: how it is written, and how it is read.
_PARAMETERS: dict[str, tuple[Callable[[Any], Any], Callable[[Fields, str], Any]]] = {
    "gamma": (float, Fields.finite),
    "coef0": (float, Fields.finite),
    "degree": (int, lambda fields, name: fields.count(name, 0, 2**31 - 1)),
    "dense": (bool, Fields.flag),
    "in_double": (bool, lambda fields, name: name in fields and fields.flag(name)),
}


def _parameters_of(cls: type[NamedKernel]) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if field.name in _PARAMETERS]


def _put_parameters(kernel: NamedKernel) -> dict[str, Any]:
    return {
        name: _PARAMETERS[name][0](getattr(kernel, name)) for name in _parameters_of(type(kernel))
    }


def _take_parameters(cls: type[NamedKernel], fields: Fields) -> dict[str, Any]:
    return {name: _PARAMETERS[name][1](fields, name) for name in _parameters_of(cls)}
