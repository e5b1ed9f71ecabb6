"""sparse.py - tensors that are not kept as one block of elements, as gradients of sparse tables are: they are saved with their zeros."""

MOST_FILLED = 64 << 20  # bytes; a table of more would cost the training more memory than its sparse form was chosen to save


def save_filled(hook, name, code, tensor, layout):
    """Saves a tensor of another layout than strided; code: None where elements of its dtype cannot be written."""
    if code is None:
        hook._pass_over(name, tensor.dtype)
    elif tensor.numel() * tensor.element_size() > MOST_FILLED:
        hook._pass_over(name, "%s of more than %d MiB" % (tensor.layout, MOST_FILLED >> 20))
    elif hook.should_save_tensor_or_collection(name, ""):
        hook._save_torch(name, tensor.to_dense(), layout)
