"""devices.py - tensors that lie on a device: copied to the host while the training goes on, or reduced where they lie.

1. save() is called in the middle of a step, from the training's stream. Where statistics are all that is wanted, the device takes
   them and six numbers travel. Else the tensor is cloned on the device, because the training may change it at once.
2. A stream of its own copies the clone into pinned memory of the host. The training's stream does not wait for it.
3. Before the next step begins, finish() waits for the copies that are still on the way and hands them to the library.

How a kind of device copies is in COPIERS, by its type; those that are not there copy without a stream of their own.
"""
import ctypes
import sys

MOST_WAITING = 256 << 20  # bytes on the way; more are waited for


class Plain:
    """A device without streams: the copy is done when start() returns."""

    def __init__(self, device):
        pass

    def host(self, tensor):
        return sys.modules["torch"].empty(tensor.shape, dtype=tensor.dtype)

    def start(self, tensor, host):
        """Begins a copy; the result's synchronize() waits for it, None is done."""
        host.copy_(tensor)


class Cuda:
    """A stream of its own and pinned memory."""

    def __init__(self, device):
        self._torch = sys.modules["torch"]
        self._stream = self._torch.cuda.Stream(device)

    def host(self, tensor):
        return self._torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)

    def start(self, tensor, host):
        cuda = self._torch.cuda
        self._stream.wait_stream(cuda.current_stream(tensor.device))
        with cuda.stream(self._stream):
            host.copy_(tensor, non_blocking=True)
            copied = cuda.Event()
            copied.record(self._stream)
        tensor.record_stream(self._stream)  # its memory is not given away before
        return copied


COPIERS = {"cuda": Cuda}


def statistics(tensor):
    """min, max, mean, std (by N), l1 and l2 of a tensor, as one tensor of doubles on its device."""
    torch = sys.modules["torch"]
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64  # which has no doubles
    x = tensor.reshape(-1)
    x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32 if x.is_floating_point() else wide)
    low, high = torch.aminmax(x)
    mean = x.sum(dtype=wide) / x.numel()
    std = x.var(unbiased=False).sqrt() if x.numel() > 1 else mean - mean
    l1, l2 = (torch.linalg.vector_norm(x, order, dtype=wide) for order in (1, 2))
    return torch.stack([low.to(wide), high.to(wide), mean, std.to(wide), l1, l2]).to(wide)


class Copies:
    """The copies of one hook that are on the way."""

    def __init__(self, hook, library, record):
        self._hook, self._library, self._record = hook, library, record
        self._copiers, self._waiting, self._bytes, self._free = {}, [], 0, {}

    def _copier(self, device):
        if device not in self._copiers:
            self._copiers[device] = COPIERS.get(device.type, Plain)(device)
        return self._copiers[device]

    def _host(self, copier, tensor):
        """Memory of the host, of an earlier copy if there is some: pinned memory is dear to make."""
        free = self._free.get((tuple(tensor.shape), tensor.dtype))
        return free.pop() if free else copier.host(tensor)

    def save(self, encoded, code, tensor, layout):
        """Begins to save a tensor that is wanted, which is a piece where it has a layout."""
        copier, shape = self._copier(tensor.device), tuple(tensor.shape)
        reduced = layout is None and tensor.numel() > 0 and not tensor.is_complex() and self._library.assay_hook_wants_statistics(
            self._hook._handle, encoded)
        sent = statistics(tensor) if reduced else tensor.resolve_conj().resolve_neg().clone(
            memory_format=sys.modules["torch"].contiguous_format)
        host = self._host(copier, sent)
        self._waiting.append((copier.start(sent, host), host, encoded, code, shape, reduced, layout))
        self._bytes += host.numel() * host.element_size()
        if self._bytes > MOST_WAITING:
            self.finish()

    def finish(self):
        """Hands over what was begun: all of it belongs to the step that has not ended yet."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        for copy in waiting:
            try:
                self._hand_over(*copy)
            except Exception as error:  # noqa: B902 - one copy failed: the step and the other copies go on
                self._hook._complain("save", error)

    def _hand_over(self, copied, host, encoded, code, shape, reduced, layout):
        if copied is not None:
            copied.synchronize()
        extents, handle = self._hook._shape(shape), self._hook._handle
        if reduced:
            figures = self._record(*host.tolist())
            self._library.assay_hook_save_statistics(handle, encoded, code, len(shape), extents, ctypes.byref(figures))
        else:
            self._library.assay_hook_save_piece(handle, encoded, code, len(shape), extents, host.data_ptr(), layout)
        self._free.setdefault((tuple(host.shape), host.dtype), []).append(host)
