"""The modules of the reference (smdebug) and what each has, by where it stands here. One table makes all of them: `assay.core.modes` for a
script whose imports were changed from smdebug to assay, and `smdebug.core.modes` where the package smdebug of assay is installed.

docs/from-sagemaker-debugger.md lists the names. A module that exists as a file goes first.
"""
import importlib
import importlib.abc
import importlib.machinery
import sys

_HOOK = "Collection CollectionKeys CollectionManager ModeKeys ReductionConfig SaveConfig SaveConfigMode modes"
_SINGLETON = "get_hook set_hook del_hook"
_EXCEPTIONS = ("SMDebugError SMDebugCustomerError SMDebugTypeError SMDebugRuntimeError SMDebugNotImplementedError SMDebugValueError "
               "InvalidCollectionConfiguration StepNotYetAvailable MissingCollectionFiles IndexReaderException StepUnavailable "
               "TensorUnavailableForStep ShapeUnavailableForStep TensorUnavailable InvalidWorker NoMoreProfilerData NoMoreData "
               "RuleEvaluationConditionMet InsufficientInformationForRuleInvocation")
_CONSTANTS = {
    "CONFIG_FILE_PATH_ENV_STR": "SMDEBUG_CONFIG_FILE_PATH", "DEFAULT_WORKER_NAME": "worker_0", "CONFIG_OUTDIR_KEY": "LocalPath",
    "DEFAULT_CONFIG_FILE_PATH": "/opt/ml/input/config/debughookconfig.json", "CONFIG_HOOK_PARAMS_KEY": "HookParameters",
    "CONFIG_COLLECTION_CONFIG_KEY": "CollectionConfigurations", "CONFIG_COLLECTION_NAME_KEY": "CollectionName",
    "CONFIG_COLLECTION_PARAMS_KEY": "CollectionParameters", "TENSORBOARD_CONFIG_FILE_PATH_ENV_STR": "TENSORBOARD_CONFIG_FILE_PATH",
    "DEFAULT_SAGEMAKER_OUTDIR": "/opt/ml/output/tensors", "DEFAULT_COLLECTIONS_FILE_NAME": "worker_0_collections.json",
    "DEFAULT_SAGEMAKER_TENSORBOARD_PATH": "/opt/ml/input/config/tensorboardoutputconfig.json", "DEFAULT_SAVED_COLLECTIONS": ["losses"],
    "DEFAULT_SAGEMAKER_METRICS_PATH": "SAGEMAKER_METRICS_DIRECTORY", "DEFAULT_RESOURCE_CONFIG_FILE": "/opt/ml/input/config/resourceconfig.json",
    "INCOMPLETE_STEP_WAIT_WINDOW_KEY": "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "INCOMPLETE_STEP_WAIT_WINDOW_DEFAULT": 1000,
    "TRAINING_END_DELAY_REFRESH_KEY": "SMDEBUG_TRAINING_END_DELAY_REFRESH", "TRAINING_END_DELAY_REFRESH_DEFAULT": 1,
}
# module: {where its names come from: the names}; "=" are constants
MODULES = {
    "": {"assay_hook": "CollectionKeys ReductionConfig SaveConfig SaveConfigMode", "assay.modes": "ModeKeys modes=ModeKeys",
         "assay": "__version__"},
    "exceptions": {"assay.exceptions": _EXCEPTIONS},
    "analysis": {},
    "analysis.utils": {"assay.refreshing": "no_refresh refresh parse_list_from_str parse_bool"},
    "core": {},
    "core.collection": {"assay_hook": "Collection CollectionKeys"},
    "core.collection_manager": {"assay_hook": "CollectionManager"},
    "core.config_constants": {"=": _CONSTANTS},
    "core.json_config": {"=": _CONSTANTS},
    "core.config_validator": {"assay.surroundings": "is_framework_version_supported reset_config_validator"},
    "core.hook_utils": {"assay.surroundings": "verify_and_get_out_dir"},
    "core.logger": {"assay.surroundings": "get_logger"},
    "core.modes": {"assay.modes": "ModeKeys"},
    "core.reader": {"assay.event_files": "FileReader"},
    "core.reduction_config": {"assay_hook": "ReductionConfig"},
    "core.sagemaker_utils": {"assay.surroundings": "is_sagemaker_job"},
    "core.save_config": {"assay_hook": "SaveConfig SaveConfigMode"},
    "core.singleton_utils": {"assay_hook": _SINGLETON},
    "core.tensor": {"assay.modes": "StepState", "assay.tensor": "Tensor"},
    "core.utils": {"assay.surroundings": "FRAMEWORK ScriptSimulator SagemakerSimulator ensure_dir is_framework_version_supported is_s3 "
                                         "get_path_to_collections remove_file_if_exists"},
    "core.access_layer": {"assay.surroundings": "check_dir_exists has_training_ended training_has_ended"},
    "core.access_layer.file": {"assay.surroundings": "get_temp_path SMDEBUG_TEMP_PATH_SUFFIX=SUFFIX"},
    "core.access_layer.utils": {"assay.surroundings": "check_dir_exists has_training_ended training_has_ended"},
    "core.locations": {"assay.event_files": "IndexFileLocationUtils TensorFileLocation"},
    "core.writer": {"assay.event_files": "FileWriter"},
    "profiler": {},
    "profiler.profiler_constants": {"=": {"DEFAULT_PREFIX": "framework/pevents", "HOROVODTIMELINE_SUFFIX": "horovod_timeline.json",
                                          "PYTHONTIMELINE_SUFFIX": "pythontimeline.json", "MODELTIMELINE_SUFFIX": "model_timeline.json",
                                          "CONVERT_TO_MICROSECS": 1000000}},
    "pytorch": {"assay_hook": "Hook " + _HOOK + " " + _SINGLETON},
    "pytorch.collection": {"assay_hook": "Collection CollectionKeys CollectionManager"},
    "pytorch.hook": {"assay_hook": "Hook CollectionKeys"},
    "pytorch.singleton_utils": {"assay_hook": _SINGLETON},
    "rules": {"assay.rule": "Rule invoke_rule", "assay.req_tensors": "RequiredTensors RequiredTensorsForTrial"},
    "rules.req_tensors": {"assay.req_tensors": "RequiredTensors RequiredTensorsForTrial"},
    "rules.rule": {"assay.rule": "Rule"},
    "rules.rule_invoker": {"assay.rule": "invoke_rule"},
    "xgboost": {"assay_recording.xgboost": "Hook", "assay_hook": _HOOK + " " + _SINGLETON},
    "xgboost.hook": {"assay_recording.xgboost": "Hook", "assay_hook": "CollectionKeys"},
    "xgboost.singleton_utils": {"assay_hook": _SINGLETON},
    "trials": {"assay.trial": "Trial LocalTrial S3Trial create_trial"},
    "trials.local_trial": {"assay.trial": "LocalTrial"},
    "trials.s3_trial": {"assay.trial": "S3Trial"},
    "trials.trial": {"assay.trial": "Trial"},
    "trials.utils": {"assay.trial": "create_trial"},
}
NOT_HERE = {"mxnet": "MXNet has ended; assay reads what was recorded with it", "tensorflow": "TensorFlow trainings record through assay_hook.Hook: "
            "hook.step() and hook.save_tensor()"}


def contents(name):
    """{name: object} of a module of the table."""
    found = {}
    for place, names in MODULES[name].items():
        if place == "=":
            found.update(names)
            continue
        try:
            module = importlib.import_module(place)
        except ImportError as error:
            if place.startswith("assay_"):
                raise ImportError("%s: recording needs assay_hook (Debian: libassay-hook0): %s" % (name, error)) from None
            raise
        for pair in names.split():
            new, _, old = pair.partition("=")
            found[new] = getattr(module, old or new)
    return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules of the table below a package: Finder("smdebug") makes smdebug.core.modes and so on."""

    def __init__(self, package):
        self.prefix = package + "."

    def find_spec(self, fullname, path=None, target=None):
        del path, target
        if not fullname.startswith(self.prefix):
            return None
        name = fullname[len(self.prefix):]
        if name.partition(".")[0] in NOT_HERE:
            raise ImportError("%s: not in assay: %s" % (fullname, NOT_HERE[name.partition(".")[0]]), name=fullname)
        if name not in MODULES:
            return None
        package = any(other.startswith(name + ".") for other in MODULES)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        found = contents(module.__spec__.name[len(self.prefix):])
        vars(module).update(found, __doc__="By the reference's name: what assay has of it.", __all__=sorted(found))


def install(package):
    if not any(isinstance(finder, Finder) and finder.prefix == package + "." for finder in sys.meta_path):
        sys.meta_path.append(Finder(package))
