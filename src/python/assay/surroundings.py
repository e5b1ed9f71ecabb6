"""Small things around trainings that scripts take from smdebug.core: where a training is, whether it has ended, and stand-ins for SageMaker's
surroundings, for tests of such scripts."""
import collections
import enum
import functools
import json
import logging
import os
import re
import shutil
import socket
import time

from .exceptions import AssayError, IndexReaderException, SMDebugRuntimeError

END, SUFFIX = "training_job_end.ts", ".tmp"


class FRAMEWORK(enum.Enum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"


def is_framework_version_supported(framework_type):
    """The hook asks frameworks for nothing but what they document: every version will do."""
    return isinstance(framework_type, FRAMEWORK)


class ConfigValidator:
    """Says whether to record at all: USE_SMDEBUG, which assay_hook asks as well."""

    def __init__(self, framework_type=None):
        self._framework = framework_type

    def validate_training_job(self):
        return os.environ.get("USE_SMDEBUG", "true").lower() not in ("0", "off", "false", "no", "n", "f")

    @staticmethod
    def validate_profiler_config(profiler_config_parser):
        """Switches detailed profiling off where SageMaker's library divides the model, as the reference does."""
        detailed = getattr(profiler_config_parser.config, "detailed_profiling_config", None)
        try:
            divided = "partitions" in json.loads(os.environ.get("SM_HPS", "{}")).get("mp_parameters", {})
        except (ValueError, AttributeError, TypeError):  # no object of settings
            divided = False
        if detailed is not None and profiler_config_parser.profiling_enabled and divided:
            detailed.disabled = True


def get_config_validator(framework_type=None):
    return ConfigValidator(framework_type)


def reset_config_validator():
    """There is no validator that remembers anything."""


# ---- messages

REPEATED = 2  # times that one message is passed on
BASE_ERROR_MESSAGE = "An error in the recording, which is switched off for the rest of the training:"


class DuplicateLogFilter:
    """Lets the same message through a few times."""

    def __init__(self):
        self.msgs, self.repeat_threshold = collections.defaultdict(int), REPEATED

    def filter(self, record):  # noqa: A003
        self.msgs[record.msg] += 1
        return self.msgs[record.msg] <= self.repeat_threshold


def get_logger(name="smdebug"):
    made = logging.getLogger(name)
    if not any(isinstance(one, DuplicateLogFilter) for one in made.filters):
        made.addFilter(DuplicateLogFilter())
    return made


class ErrorHandlingAgent:
    """For functions of your own that a training calls: the first error is logged, and from then on the functions do nothing. With a hook that
    was configured, set by set_hook(), errors are raised. assay_hook's own calls never raise, and do not ask this."""

    def __init__(self):
        self.disable_smdebug, self.hook, self.logger = False, None, get_logger()

    @staticmethod
    def get_error_handling_agent():
        return error_handling_agent

    def set_hook(self, hook):
        self.hook = hook

    def catch_smdebug_errors(self, default_return_val=None):
        """default_return_val, or what it returns where it is a function, is returned after an error."""
        def wrap(function):
            @functools.wraps(function)
            def guarded(*arguments, **named):
                if not self.disable_smdebug:
                    try:
                        return function(*arguments, **named)
                    except Exception as error:  # noqa: B902 - whatever it is
                        if self.hook is not None and not self.hook.has_default_hook_configuration():
                            raise
                        self.logger.error(BASE_ERROR_MESSAGE)
                        self.logger.exception(error)
                        self.disable_smdebug = True
                return default_return_val(*arguments, **named) if callable(default_return_val) else default_return_val
            return guarded
        return wrap


error_handling_agent = ErrorHandlingAgent()


# ---- places and names


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


def list_files_in_directory(directory, file_regex=None):
    """All files below, those whose names begin as the pattern says."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names
            if file_regex is None or re.match(file_regex, name)]


def list_collection_files_in_directory(directory):
    return list_files_in_directory(directory, r".*_collections\.(json|ts)$")


def serialize_tf_device(device):
    """A worker of TensorFlow as names of files have it: /job:worker is _job-worker."""
    return device.replace("/", "_").replace(":", "-")


def deserialize_tf_device(device_name):
    return device_name.replace("_", "/").replace("-", ":")


def get_worker_name_from_collection_file(filename):
    name = re.match(r"(.+)_collections\.(?:json|ts)$", os.path.basename(filename))[1]
    return deserialize_tf_device(name) if name.startswith("_") else name


def parse_worker_name_from_file(filename):
    """Of a file of events or of the index: 000000000010_worker_0.json."""
    found = re.match(r"\d+_(.+)\.(?:json|csv|tfevents)$", os.path.basename(filename))
    if not found:
        raise IndexReaderException("%s: not a file of a trial" % filename)
    return deserialize_tf_device(found[1]) if "__" in os.path.basename(filename) else found[1]


def match_inc(tname, include):
    """Does one of the patterns match somewhere?"""
    return any(re.search(pattern, tname) for pattern in include)


def make_numpy_array(x):
    """Of numbers, texts, and lists and dictionaries of them."""
    import numpy
    if isinstance(x, dict):
        return {name: make_numpy_array(value) for name, value in x.items()}
    return x if isinstance(x, numpy.ndarray) else numpy.array(x if isinstance(x, (list, tuple)) else [x])


def get_node_id_from_resource_config(path="/opt/ml/input/config/resourceconfig.json"):
    """What SageMaker calls this machine; None: it is none of its."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file).get("current_host")
    except (OSError, ValueError):
        return None


def get_node_id():
    """PROCESS-MACHINE"""
    return ("%d-%s" % (os.getpid(), get_node_id_from_resource_config() or socket.gethostname())).replace("_", "-")


def is_first_process(path, is_dir=True):
    """Is this the first process that asks about the directory (or, of is_dir=False, the file)? In S3 each is."""
    if is_s3(path)[0]:
        return True
    claimed = os.path.join(path, "claim.smd") if is_dir else path
    ensure_dir(claimed)
    try:
        os.close(os.open(claimed, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


ENV_RULE_STOP_SIGNAL_FILENAME, DEFAULT_GRACETIME_FOR_RULE_STOP_SEC = "SAGEMAKER_RULE_STOP_SIGNAL", 60


def is_rule_signalled_gracetime_passed(trial_prefix):
    """Has somebody asked rules to stop, in the file that the environment names, more than a minute ago?"""
    name = os.environ.get(ENV_RULE_STOP_SIGNAL_FILENAME)
    if name is None or is_s3(trial_prefix)[0]:
        return False
    try:
        with open(os.path.join(trial_prefix, name), encoding="utf-8") as file:
            return time.time() > int(file.read()) + DEFAULT_GRACETIME_FOR_RULE_STOP_SEC
    except OSError:
        return False
    except ValueError:  # a signal that does not say when is one
        return True


def has_training_ended(trial_prefix):
    """Has the training there said that nothing more will come?"""
    if is_s3(trial_prefix)[0]:
        from .recording import Recording
        from .s3 import Folder
        try:
            return Recording(trial_prefix).ended
        except AssayError:  # no trial yet: is the mark there?
            return END in Folder(trial_prefix).names()
    return os.path.exists(os.path.join(trial_prefix, END))


check_dir_exists = has_training_ended  # that is what the reference asks of a directory before it records into it


def training_has_ended(trial_prefix):
    """Says so. Under SageMaker nobody does: the service does it."""
    if is_sagemaker_job():
        return
    if is_s3(trial_prefix)[0]:
        from .s3 import write_file
        write_file(os.path.join(trial_prefix, END), str(time.time()))
    else:
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
