"""What the scores of a kernel model need, in a file."""

from typing import Any

import numpy as np
from scipy import sparse

from polymargin.errors import ModelFileError
from polymargin.estimators import KernelSVM
from polymargin.files._arrays import Arrays, put_csr, take_csr
from polymargin.files._fields import Fields, Tensors
from polymargin.kernel import DOT_KERNELS, DotKernel, Kernel, LaplacianKernel, PrecomputedKernel


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
    if isinstance(kernel, (DotKernel, LaplacianKernel)):
        fields["kernel"]["gamma"] = float(kernel.gamma)
        is_sparse = sparse.issparse(model.support_vectors_)
        fields["support_vectors"] = "sparse" if is_sparse else "dense"
        if is_sparse:
            arrays |= put_csr("support_vectors", model.support_vectors_)
        else:
            arrays["support_vectors"] = model.support_vectors_
    if isinstance(kernel, DotKernel):
        fields["kernel"] |= {
            "coef0": float(kernel.coef0),
            "degree": int(kernel.degree),
            "dense": bool(kernel.dense),
        }
        if kernel.centre is not None:
            arrays["centre"] = kernel.centre
    return fields, arrays


def _kernel_name(kernel: Kernel) -> str | None:
    if isinstance(kernel, DotKernel):
        return kernel.name
    if isinstance(kernel, LaplacianKernel):
        return "laplacian"
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
    if model.n_support_.min() < 0 or sum(model.n_support_.tolist()) != n_sv:
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
    dtype = model.dual_coef_.dtype
    gamma = fields.finite("gamma")
    if not 0 < gamma <= float(np.finfo(dtype).max):
        raise ModelFileError(f"{fields.place}: gamma={gamma} is out of range")
    if name == "laplacian":
        return LaplacianKernel(gamma, bias=bias)
    if name not in DOT_KERNELS:
        raise ModelFileError(f"there is no kernel {name!r:.40}")
    centre = None
    if "centre" in tensors:
        if not fields.flag("dense"):
            raise ModelFileError("only a kernel of dense rows has a centre")
        centre = tensors.alike("centre", (model.n_features_in_,), dtype)
    return DotKernel(
        name,
        gamma,
        fields.finite("coef0"),
        fields.count("degree", 0, 2**31 - 1),
        fields.flag("dense"),
        centre,
        bias=bias,
    )
