"""assay_hook_topology - where a PyTorch training's workers are, and which pieces of its tensors they have, for assay_hook.

Looks at what PyTorch's documentation says of DTensor (device_mesh, placements, shape, to_local()), of DeviceMesh (mesh,
mesh_dim_names, get_coordinate()) and of process groups, and at nothing else, so that it needs no version of PyTorch and
imports none of it: a PyTorch without them, or none, has nothing to say.
"""
import ctypes
import json
import re
import sys


class Layout:
    """Which piece of a tensor is saved: the shape of the whole, where the piece begins in it, which of the workers that
    have this very piece this one is; partial: an addend of the tensor."""

    def __init__(self, global_shape, offset=None, replica=0, partial=False):
        self.global_shape = tuple(int(n) for n in global_shape)
        self.offset = tuple(int(n) for n in offset) if offset is not None else (0,) * len(self.global_shape)
        self.replica, self.partial = int(replica), bool(partial)


class _Axis(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int64), ("at", ctypes.c_int64)]


class _Layout(ctypes.Structure):
    _fields_ = [("global_shape", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.POINTER(ctypes.c_int64)),
                ("replica", ctypes.c_int64), ("partial", ctypes.c_bool)]


_HOOK, _TEXT = ctypes.c_void_p, ctypes.c_char_p
SIGNATURES = {
    "set_topology": [_HOOK, _TEXT, ctypes.c_int, ctypes.POINTER(_Axis), _TEXT],
    "add_group": [_HOOK, _TEXT, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int64)],
    "save_piece": [_HOOK, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_Layout)],
}


def _numbers(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def layout_argument(layout, dims):
    """A Layout as the library takes it; None stays None."""
    if layout is None:
        return None
    if len(layout.global_shape) != dims or len(layout.offset) != dims:
        raise ValueError("a layout of %d dimensions, with offsets in %d, for a tensor of %d" % (
            len(layout.global_shape), len(layout.offset), dims))
    return ctypes.byref(_Layout(_numbers(layout.global_shape), _numbers(layout.offset), layout.replica, layout.partial))


# -- DTensor


def is_distributed(tensor):
    return hasattr(type(tensor), "placements") and hasattr(type(tensor), "device_mesh")


def _chunk(size, parts, at):
    """How torch.chunk divides: (first, count) of the part."""
    most = -(-size // parts)
    first = min(size, most * at)
    return first, min(most, size - first)


def _kind(placement):
    """"shard", "replicate" or "partial", for Shard (also a strided one), Replicate and Partial; else None."""
    for kind in ("shard", "replicate", "partial"):
        question = getattr(placement, "is_" + kind, None)
        if question is not None and question():
            return kind
    return "shard" if getattr(placement, "dim", None) is not None else None  # strided: no plain shard


def layout_of(tensor):
    """(Layout of a DTensor's local piece, the shape that the piece has then), or None where its placements do not tell."""
    mesh, whole = tensor.device_mesh, tuple(tensor.shape)
    at, sizes = mesh.get_coordinate(), tuple(mesh.mesh.shape)
    if at is None:
        return None
    placements = list(tensor.placements)
    if any(_kind(placement) is None for placement in placements):
        return None
    offset, shape, replica = [0] * len(whole), list(whole), 0
    shards = [i for i, placement in enumerate(placements) if _kind(placement) == "shard"]
    strided = [i for i in shards if getattr(placements[i], "split_factor", 1) > 1]  # divides what later axes left of it
    for i in [i for i in shards if i not in strided] + strided[::-1]:
        dim = placements[i].dim % len(whole)
        first, shape[dim] = _chunk(shape[dim], sizes[i], at[i])
        offset[dim] += first
    for i, placement in enumerate(placements):
        if _kind(placement) == "replicate":
            replica = replica * sizes[i] + at[i]
    return Layout(whole, offset, replica, any(_kind(placement) == "partial" for placement in placements)), tuple(shape)


def local_piece(tensor):
    """(tensor of this worker, its Layout or None) of a tensor that may be distributed."""
    if not is_distributed(tensor):
        return tensor, None
    found, local = layout_of(tensor), tensor.to_local()
    if found is None:
        return local, None
    layout, shape = found
    return local, layout if tuple(local.shape) == shape else None  # divided in some other way: nobody knows which piece it is


# -- meshes and groups


def _axis_name(name, i):
    made = re.sub("[^a-z0-9_]", "_", str(name).lower()) if name else ""
    return made if made[:1].isalpha() else "dim_%d" % i


def mesh_axes(mesh):
    """[(name, size, this worker's place)] of a DeviceMesh or of {"dp": (2, 0), "tp": (4, 3)}; None: the worker is not in it."""
    if hasattr(mesh, "items"):
        return [(name, size, at) for name, (size, at) in mesh.items()]
    at, sizes = mesh.get_coordinate(), tuple(mesh.mesh.shape)
    names = getattr(mesh, "mesh_dim_names", None) or [None] * len(sizes)
    return [(_axis_name(names[i], i), sizes[i], at[i]) for i in range(len(sizes))] if at is not None else None


def set_topology(library, handle, name, mesh, tensors):
    axes = mesh_axes(mesh)
    if axes is None:
        return 0
    array = (_Axis * max(len(axes), 1))(*[_Axis(str(n).encode(), int(size), int(at)) for n, size, at in axes])
    text = None if tensors is None else (tensors if isinstance(tensors, str) else json.dumps(tensors)).encode()
    return library.assay_hook_set_topology(handle, name.encode(), len(axes), array, text)


def _meshes_of(modules):
    """The DeviceMeshes that parameters of the modules lie on, each once, larger ones first."""
    found = []
    for module in modules:
        for parameter in module.parameters():
            mesh = parameter.device_mesh if is_distributed(parameter) else None
            if mesh is not None and all(mesh is not other for other in found):
                found.append(mesh)
    return sorted(found, key=lambda mesh: -int(mesh.mesh.numel()))


def _ranks_along(mesh, i):
    """The ranks that differ from this one along the mesh's axis i only."""
    at = list(mesh.get_coordinate())
    at[i] = slice(None)
    return [int(rank) for rank in mesh.mesh[tuple(at)].reshape(-1).tolist()]


def _process_groups(distributed):
    """[(name, ranks)] of the process groups that this worker is in, but for that of all workers."""
    c10d = getattr(distributed, "distributed_c10d", None)
    known = getattr(getattr(c10d, "_world", None), "pg_group_ranks", None) or getattr(c10d, "_pg_group_ranks", None) or {}
    names = getattr(getattr(c10d, "_world", None), "pg_names", None) or getattr(c10d, "_pg_names", None) or {}
    for group, ranks in list(known.items()):
        name = getattr(group, "group_desc", None) or names.get(group)
        if name and name not in ("undefined", "default_pg") and not str(name).isdigit() and isinstance(ranks, dict):
            yield str(name), sorted(ranks, key=ranks.get)


def learn(library, handle, modules, workers, said):
    """Tells the library what PyTorch knows: meshes that have all workers, unless the training said one; groups."""
    groups = []
    for mesh in _meshes_of(modules):
        axes = mesh_axes(mesh)
        if axes and int(mesh.mesh.numel()) == workers and not said:
            set_topology(library, handle, "mesh", mesh, None)
            said = True
        elif axes:
            groups += [("mesh_" + axis, _ranks_along(mesh, i)) for i, (axis, _, _) in enumerate(axes)]
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        groups += _process_groups(distributed)
    seen = set()
    for name, ranks in groups:
        if (name, tuple(ranks)) not in seen:
            seen.add((name, tuple(ranks)))
            library.assay_hook_add_group(handle, name.encode(), len(ranks), _numbers(ranks))
