"""Checkpoints as trainings write them: safetensors by hand, the rest by their own libraries.

    from checkpoints import save_safetensors, save_sharded, save_pieces, save_npz, save_dcp, split_metadata, save_zero
"""
import io
import json
import pickle
import struct
import sys
import types

import numpy

NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
         "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}


def safetensors_bytes(tensors, metadata=None, dtypes=None, shapes=None):
    """A file's bytes: `tensors` are numpy arrays by name; `dtypes` renames the dtype of some, `shapes` says another shape."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, value in tensors.items():
        bytes_ = numpy.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": (dtypes or {}).get(name, NAMES[value.dtype.name]), "shape": (shapes or {}).get(name, list(value.shape)),
                        "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def save_safetensors(path, tensors, metadata=None, dtypes=None, shapes=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(safetensors_bytes(tensors, metadata, dtypes, shapes))


def save_sharded(directory, tensors, shards):
    """A set of so many files with its index."""
    names, where = list(tensors), {}
    for i in range(shards):
        file = "model-%05d-of-%05d.safetensors" % (i + 1, shards)
        own = {name: tensors[name] for name in names[i::shards]}
        save_safetensors(directory / file, own)
        where.update({name: file for name in own})
    size = sum(value.nbytes for value in tensors.values())
    (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": where}))


def save_pieces(directory, tensors, ranks):
    """What ranks save together: each has a piece of every tensor along its first dimension."""
    for rank in range(ranks):
        own, offsets = {}, {}
        for name, value in tensors.items():
            pieces = numpy.array_split(numpy.arange(value.shape[0]), ranks)[rank] if value.ndim else []
            if value.ndim == 0 and rank == 0:
                own[name], offsets[name] = value, {"saved_offsets": []}
            elif len(pieces):
                own[name] = value[pieces[0]:pieces[-1] + 1]
                offsets[name] = {"saved_offsets": [int(pieces[0])] + [0] * (value.ndim - 1)}
        save_safetensors(directory / ("shard-%05d-model-00001-of-00001.safetensors" % (rank + 1)), own,
                         {"DCP_SHARDING_INFO": json.dumps(offsets)})


def save_npz(path, tensors, compressed=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    (numpy.savez_compressed if compressed else numpy.savez)(path, **tensors)


def dcp_class(name, module="torch.distributed.checkpoint.metadata"):
    """A class that pickles under torch's name for it."""
    made = type(name, (), {"__module__": module, "__init__": lambda self, **fields: self.__dict__.update(fields),
                           "__hash__": lambda self: id(self)})
    sys.modules.setdefault(module, types.ModuleType(module))
    setattr(sys.modules[module], name, made)
    return made


def save_dcp(directory, model, optimizer, ranks):
    """A distributed checkpoint as torch 2 writes it: tensors of torch by name, cut along their first dimension over ranks.
    torch's own writer is not in Debian's torch, so its classes are named here."""
    import torch
    metadata, storage_of = dcp_class("Metadata"), dcp_class("TensorStorageMetadata")
    chunk_of, index_of, properties = dcp_class("ChunkStorageMetadata"), dcp_class("MetadataIndex"), dcp_class("TensorProperties")
    info = dcp_class("_StorageInfo", "torch.distributed.checkpoint.filesystem")
    directory.mkdir(parents=True)
    files, tensors, places, paths = [io.BytesIO() for _ in range(ranks)], {}, {}, {}
    for part, named in (("model", model), ("optimizer", optimizer)):
        for name, value in named.items():
            fqn, chunks, at = part + "." + name, [], 0
            paths[fqn] = (part, name)
            pieces = torch.tensor_split(value, ranks) if value.dim() else [value] + [None] * (ranks - 1)
            for file, (out, piece) in enumerate(zip(files, pieces)):
                if piece is None or (value.dim() and piece.shape[0] == 0):
                    continue
                offsets = torch.Size([at] + [0] * (value.dim() - 1) if value.dim() else [])
                at += piece.shape[0] if value.dim() else 0
                begin, saved = out.tell(), io.BytesIO()
                torch.save(piece.clone(), saved)
                out.write(saved.getvalue())
                chunks.append(chunk_of(offsets=offsets, sizes=piece.shape))
                places[index_of(fqn=fqn, offset=offsets, index=len(chunks) - 1)] = info(
                    relative_path="__%d_0.distcp" % file, offset=begin, length=out.tell() - begin)
            tensors[fqn] = storage_of(properties=properties(dtype=value.dtype), size=value.shape, chunks=chunks)
    for file, out in enumerate(files):
        (directory / ("__%d_0.distcp" % file)).write_bytes(out.getvalue())
    (directory / ".metadata").write_bytes(pickle.dumps(metadata(state_dict_metadata=tensors, planner_data=paths,
                                                                storage_data=places, storage_meta=None), protocol=4))


def split_metadata(directory, ranks):
    """Makes of .metadata what ranks write that save without asking each other, a file each. The last one, which is rank 10, also names
    the first chunk of the one before it, at a place where it is not: the lower rank's word counts."""
    whole = pickle.loads((directory / ".metadata").read_bytes())
    make = lambda like, **fields: type(like)(**fields)
    for rank in range(ranks):
        mine = {index: info for index, info in whole.storage_data.items() if info.relative_path.startswith("__%d_" % rank)}
        if rank == ranks - 1:
            index, info = next((i, s) for i, s in whole.storage_data.items() if s.relative_path.startswith("__%d_" % (rank - 1)))
            mine[index] = make(info, relative_path=info.relative_path, offset=1, length=info.length)
        held = {(index.fqn, tuple(index.offset)) for index in mine}
        tensors = {}
        for fqn, about in whole.state_dict_metadata.items():
            chunks = [c for c in about.chunks if (fqn, tuple(c.offsets)) in held]
            if chunks:
                tensors[fqn] = make(about, properties=about.properties, size=about.size, chunks=chunks)
        (directory / ("__%d.metadata" % (10 if rank == ranks - 1 else 2 * rank))).write_bytes(pickle.dumps(make(
            whole, state_dict_metadata=tensors, planner_data=whole.planner_data, storage_data=mine, storage_meta=None), protocol=4))
    (directory / ".metadata").unlink()


def save_zero(directory, stage, groups, moments, ranks, buffers=(), half=None):
    """DeepSpeed's files of one tensor-parallel rank, as ZeRO 1 and 2 or 3 cuts them: `groups` is a list of parameters by name, numpy
    float32; `moments` are those of Adam by name; `half` is torch's dtype of the model. Padded as DeepSpeed does."""
    import torch
    directory.mkdir(parents=True, exist_ok=True)
    prefix = "bf16_" if half == torch.bfloat16 else ""
    shapes = [{name: torch.Size(value.shape) for name, value in group.items()} for group in groups]
    whole = {name: torch.from_numpy(numpy.array(value)) for group in groups for name, value in group.items()}

    def model(rank):
        kept = {name: value.to(half or value.dtype) if stage < 3 else torch.zeros(0) for name, value in whole.items()}
        kept.update({name: torch.from_numpy(value) for name, value in dict(buffers).items()})
        return {"module": kept, "buffer_names": list(dict(buffers)), "optimizer": None, "param_shapes": shapes, "global_steps": int("".join(c for c in directory.name if c.isdigit()) or 1),
                "dp_world_size": ranks, "mp_world_size": 1}

    def flat(values, rank, padded=True):
        if stage == 3:
            cut = []
            for value in values:
                each = -(-value.size // ranks)
                cut.append(numpy.concatenate([value.ravel(), numpy.zeros(each * ranks - value.size, "float32")])[rank * each:(rank + 1) * each])
            return torch.from_numpy(numpy.concatenate(cut))
        joined = numpy.concatenate([value.ravel() for value in values])
        total = -(-joined.size // (2 * ranks)) * 2 * ranks
        each = total // ranks
        mine = torch.from_numpy(numpy.concatenate([joined, numpy.zeros(total - joined.size, "float32")])[rank * each:(rank + 1) * each].copy())
        return mine if padded else mine[:max(0, min(each, joined.size - rank * each))]

    for rank in range(ranks):
        if stage == 3 or rank == 0:
            name = "zero_pp_rank_%d_mp_rank_00_model_states.pt" % rank if stage == 3 else "mp_rank_00_model_states.pt"
            torch.save(model(rank), directory / name)
        state = {g: dict({"step": torch.tensor(7.)}, **{key: flat([values[name] for name in group], rank) for key, values in moments.items()})
                 for g, group in enumerate(groups)}
        masters = [flat(list(group.values()), rank, False) for group in groups]
        if stage == 3:
            saved = {"zero_stage": 3, "partition_count": ranks, "optimizer_state_dict": {"state": state}, "fp32_flat_groups": masters}
        else:
            saved = {"zero_stage": stage, "partition_count": [ranks] * len(groups), "base_optimizer_state": {"state": state},
                     "single_partition_of_fp32_groups": masters}
        torch.save({"optimizer_state_dict": saved}, directory / ("%szero_pp_rank_%d_mp_rank_00_optim_states.pt" % (prefix, rank)))
