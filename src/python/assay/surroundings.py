"""Small things around trainings that scripts take from smdebug.core: where a training is, whether it has ended, and stand-ins for SageMaker's
surroundings, for tests of such scripts."""
import enum
import json
import logging
import os
import shutil

from .exceptions import SMDebugRuntimeError

END, SUFFIX = "training_job_end.ts", ".tmp"


class FRAMEWORK(enum.Enum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"


def is_framework_version_supported(framework_type):
    """The hook asks frameworks for nothing but what they document: every version will do."""
    return isinstance(framework_type, FRAMEWORK)


def reset_config_validator():
    """There is no validator that remembers anything."""


def get_logger(name="smdebug"):
    return logging.getLogger(name)


def is_sagemaker_job():
    return "TRAINING_JOB_NAME" in os.environ


def is_s3(path):
    """(is it in S3, bucket, prefix)"""
    path = str(path).strip()
    if not path.lower().startswith("s3://"):
        return False, None, None
    bucket, _, prefix = path[5:].partition("/")
    return True, bucket, prefix


def get_temp_path(path):
    """What a file is called until it is whole."""
    return path + SUFFIX


def ensure_dir(path, is_file=True):
    """Makes the directory, or that of a file."""
    os.makedirs((os.path.dirname(path) or ".") if is_file else path, exist_ok=True)


def remove_file_if_exists(path):
    if os.path.exists(path):
        os.remove(path)


def get_path_to_collections(path):
    return os.path.join(path, "collections", "000000000")


def has_training_ended(trial_prefix):
    """Has the training there said that nothing more will come?"""
    if is_s3(trial_prefix)[0]:
        from .recording import Recording
        return Recording(trial_prefix).ended
    return os.path.exists(os.path.join(trial_prefix, END))


check_dir_exists = has_training_ended  # that is what the reference asks of a directory before it records into it


def training_has_ended(trial_prefix):
    """Says so. Under SageMaker nobody does: the service does it."""
    if not is_sagemaker_job():
        os.makedirs(trial_prefix, exist_ok=True)
        with open(os.path.join(trial_prefix, END), "a"):
            pass


def verify_and_get_out_dir(out_dir):
    """The directory that a hook is to record into; raises for one that a training has ended in."""
    if out_dir is None:
        raise RuntimeError("a recording needs a directory: out_dir")
    out_dir = out_dir if is_s3(out_dir)[0] else os.path.expanduser(out_dir)
    if not is_s3(out_dir)[0] and has_training_ended(out_dir):
        raise SMDebugRuntimeError("%s holds a training that has ended: name another directory" % out_dir)
    return out_dir


class ScriptSimulator:
    """with ScriptSimulator() as sim: a script that names its own directory, `sim.out_dir`, which is empty before and gone afterwards."""

    def __init__(self, out_dir="/tmp/test", tensorboard_dir=None):
        self.out_dir, self.tensorboard_dir = out_dir, tensorboard_dir

    def _clear(self):
        for path in filter(None, (self.out_dir, self.tensorboard_dir)):
            shutil.rmtree(path, ignore_errors=True)

    def __enter__(self):
        self._clear()
        return self

    def __exit__(self, *error):
        self._clear()


class SagemakerSimulator:
    """with SagemakerSimulator() as sim: the variables and files that a training of SageMaker finds, with this configuration of its hook."""

    def __init__(self, json_config_path="/tmp/zcc_config.json", tensorboard_dir="/tmp/tensorboard", training_job_name="sm_job",
                 json_file_contents="{}", cleanup=True, enable_tb=True):
        self.out_dir = "/opt/ml/output/tensors"
        self.json_config_path, self.tensorboard_dir, self.json_file_contents = json_config_path, tensorboard_dir, json_file_contents
        self.tb_json_config_path = json_config_path + ".tensorboard"
        self.cleanup, self.enable_tb = cleanup, enable_tb
        self._variables = {"SMDEBUG_CONFIG_FILE_PATH": json_config_path, "TRAINING_JOB_NAME": training_job_name,
                           "TENSORBOARD_CONFIG_FILE_PATH": self.tb_json_config_path}

    def __enter__(self):
        if self.cleanup:
            shutil.rmtree(self.out_dir, ignore_errors=True)
        with open(self.json_config_path, "w", encoding="utf-8") as file:
            file.write(self.json_file_contents)
        if self.enable_tb:
            with open(self.tb_json_config_path, "w", encoding="utf-8") as file:
                json.dump({"LocalPath": self.tensorboard_dir}, file)
        os.environ.update(self._variables)
        return self

    def __exit__(self, *error):
        if self.cleanup:
            remove_file_if_exists(self.json_config_path)
            remove_file_if_exists(self.tb_json_config_path)
            for name in self._variables:
                os.environ.pop(name, None)
