"""dtensor.py - stand-ins for PyTorch's DTensor, which PyTorch 1.13 does not have. They have what PyTorch documents of DTensor and
DeviceMesh (device_mesh, placements, shape, to_local(); mesh, mesh_dim_names, get_coordinate()), and divide as torch.chunk does, which
DTensor documents for Shard."""
import numpy
import torch


class Shard:
    def __init__(self, dim):
        self.dim = dim

    def is_shard(self, dim=None):
        return dim is None or dim == self.dim

    def is_replicate(self):
        return False

    def is_partial(self):
        return False


class StridedShard(Shard):  # FSDP over a dimension that tensor parallelism has divided already
    def __init__(self, dim, split_factor):
        super().__init__(dim)
        self.split_factor = split_factor


class Replicate:
    def is_shard(self, dim=None):
        return False

    def is_replicate(self):
        return True

    def is_partial(self):
        return False


class Mesh:
    def __init__(self, sizes, names, rank):
        self.mesh, self.mesh_dim_names, self.rank = torch.arange(int(numpy.prod(sizes))).reshape(sizes), names, rank

    def get_coordinate(self):
        found = (self.mesh == self.rank).nonzero()
        return found[0].tolist() if len(found) else None


def chunk(value, dim, parts, at):
    whole = list(torch.chunk(value, parts, dim))
    return whole[at] if at < len(whole) else value.narrow(dim, 0, 0)


class DTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, whole, mesh, placements):
        at, sizes = mesh.get_coordinate(), mesh.mesh.shape
        local = whole
        late = [i for i, p in enumerate(placements) if isinstance(p, StridedShard)]
        for i in [i for i in range(len(placements)) if i not in late] + late[::-1]:
            if placements[i].is_shard():
                local = chunk(local, placements[i].dim, sizes[i], at[i])
        made = torch.Tensor._make_subclass(cls, local.contiguous())
        made.local, made.whole, made.on, made.placed = local.contiguous(), whole, mesh, placements
        return made

    device_mesh = property(lambda self: self.on)
    placements = property(lambda self: self.placed)
    shape = property(lambda self: self.whole.shape)

    def to_local(self):
        return self.local
