"""assay_recording - what assay_hook.py needs for auto(), for devices and for frameworks.

    workers     which worker this process is, and of how many
    budget      how often to save so that recording stays within a share of the step time or a number of bytes
    devices     tensors of GPUs: copied while the training goes on, or reduced where they lie
    modules     what the modules of a network are
    auto        the hook that configures itself
    callbacks   the same as a callback of PyTorch Lightning and of Hugging Face's Trainer

It lies beside assay_hook.py. docs/hook.md says how to use it.
"""
