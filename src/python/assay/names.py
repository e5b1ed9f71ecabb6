"""The modules of the reference (smdebug) and what each has, by where it stands here. One table makes all of them: `assay.core.modes` for a
script whose imports were changed from smdebug to assay, and `smdebug.core.modes` where the package smdebug of assay is installed.

docs/from-sagemaker-debugger.md lists the names. A module that exists as a file goes first.
"""
import importlib
import importlib.abc
import importlib.machinery
import sys

_HOOK = "Collection CollectionKeys CollectionManager ModeKeys ReductionConfig SaveConfig SaveConfigMode modes"
_OTHERS = "set_hook del_hook"
_SINGLETON = "get_hook " + _OTHERS
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
    "CHECKPOINT_CONFIG_FILE_PATH_ENV_VAR": "CHECKPOINT_CONFIG_FILE_PATH", "LOG_DUPLICATION_THRESHOLD": 2,
    "TRAINING_END_DELAY_REFRESH_KEY": "SMDEBUG_TRAINING_END_DELAY_REFRESH", "TRAINING_END_DELAY_REFRESH_DEFAULT": 1,
}
_ENDS = "check_dir_exists has_training_ended training_has_ended"
_OF_PYTHON = "PythonProfileModes PythonProfilerName StepPhase cProfileTimer mode_keys_to_python_profile_mode python_profile_mode_to_str " \
             "str_to_python_profile_mode"
_PROFILER_CONSTANTS = """DEFAULT_PREFIX DEFAULT_SYSTEM_PROFILER_PREFIX TRACE_DIRECTORY_FORMAT PYTHONTIMELINE_SUFFIX MODELTIMELINE_SUFFIX
    HOROVODTIMELINE_SUFFIX SMDATAPARALLELTIMELINE_SUFFIX TENSORBOARDTIMELINE_SUFFIX MERGEDTIMELINE_SUFFIX PT_DATALOADER_WORKER PT_DATALOADER_ITER
    PT_DATALOADER_INITIALIZE TF_DATALOADER_ITER TF_METRICS_PREFIX TF_DATALOADER_START_FLAG_FILENAME TF_DATALOADER_END_FLAG_FILENAME
    ENV_TIME_BUFFER TIME_BUFFER_DEFAULT ENV_TRAIILING_DURATION TRAILING_DURATION_DEFAULT CONFIG_PATH_DEFAULT BASE_FOLDER_DEFAULT
    CONVERT_TO_MICROSECS CONVERT_MICRO_TO_NS MAX_FILE_SIZE_DEFAULT CLOSE_FILE_INTERVAL_DEFAULT FILE_OPEN_FAIL_THRESHOLD_DEFAULT
    PYTHON_PROFILING_START_STEP_DEFAULT PROFILING_NUM_STEPS_DEFAULT PROFILER_DURATION_DEFAULT CPROFILE_NAME PYINSTRUMENT_NAME
    CPROFILE_STATS_FILENAME PYINSTRUMENT_JSON_FILENAME PYINSTRUMENT_HTML_FILENAME"""
_PROFILER_UTILS = """TimeUnits convert_utc_datetime_to_microseconds convert_utc_datetime_to_nanoseconds convert_utc_timestamp_to_microseconds
    convert_utc_timestamp_to_nanoseconds convert_utc_timestamp_to_seconds get_node_id_from_system_profiler_filename
    get_node_id_from_tracefilename get_timestamp_from_tracefilename get_utctimestamp_us_since_epoch_from_system_profiler_file
    is_valid_tfprof_tracefilename is_valid_tracefilename ns_since_epoch_to_human_readable_time read_tf_profiler_metadata_file
    us_since_epoch_to_human_readable_time validate_system_profiler_file"""
_READERS = "LocalSystemMetricsReader S3SystemMetricsReader SystemMetricsReader"
_EVENT_READERS = "AlgorithmMetricsReader LocalAlgorithmMetricsReader S3AlgorithmMetricsReader"
_PARSERS = "HorovodProfilerEvents SMDataParallelProfilerEvents SMProfilerEvents TensorboardProfilerEvents"
_TRACE = "ProcessInfo ThreadInfo TraceEvent TraceEventParser"
_SAMPLES = "ProfilerSystemEvent ProfilerSystemEvents SystemProfilerEventParser"
_CHARTS = {"heatmap": "Heatmap", "metrics_histogram": "MetricsHistogram", "step_histogram": "StepHistogram",
           "step_timeline_chart": "StepTimelineChart", "timeline_charts": "TimelineCharts"}
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
    "core.config_validator": {"assay.surroundings": "ConfigValidator get_config_validator is_framework_version_supported "
                                                      "reset_config_validator"},
    "core.hook_utils": {"assay.surroundings": "verify_and_get_out_dir"},
    "core.logger": {"assay.surroundings": "DuplicateLogFilter get_logger"},
    "core.modes": {"assay.modes": "ModeKeys"},
    "core.reader": {"assay.event_files": "FileReader"},
    "core.reduction_config": {"assay_hook_config": "ReductionConfig ALLOWED_REDUCTIONS=REDUCTIONS ALLOWED_NORMS=NORMS"},
    "core.sagemaker_utils": {"assay.surroundings": "is_sagemaker_job"},
    "core.save_config": {"assay_hook": "SaveConfig SaveConfigMode"},
    "core.singleton_utils": {"assay_hook": _SINGLETON},
    "core.tensor": {"assay.modes": "StepState", "assay.tensor": "Tensor"},
    "core.utils": {"assay.surroundings": """FRAMEWORK ScriptSimulator SagemakerSimulator deserialize_tf_device ensure_dir error_handling_agent
        get_logger get_node_id get_path_to_collections get_worker_name_from_collection_file is_first_process is_framework_version_supported is_s3
        list_collection_files_in_directory list_files_in_directory make_numpy_array match_inc parse_worker_name_from_file
        remove_file_if_exists serialize_tf_device"""},
    "core.access_layer": {"assay.surroundings": _ENDS + " ENV_RULE_STOP_SIGNAL_FILENAME DEFAULT_GRACETIME_FOR_RULE_STOP_SEC "
                                                "is_rule_signalled_gracetime_passed", "assay.s3": "TSAccessFile TSAccessS3"},
    "core.access_layer.file": {"assay.surroundings": "get_temp_path SMDEBUG_TEMP_PATH_SUFFIX=SUFFIX", "assay.s3": "TSAccessFile"},
    "core.access_layer.s3": {"assay.s3": "TSAccessS3"},
    "core.access_layer.s3handler": {"assay.s3": "DeleteRequest ListRequest ReadObjectRequest S3Handler", "assay.surroundings": "is_s3"},
    "core.access_layer.utils": {"assay.surroundings": _ENDS + " is_s3", "assay.s3": "delete_s3_prefixes"},
    "core.error_handling_agent": {"assay.surroundings": "BASE_ERROR_MESSAGE ErrorHandlingAgent"},
    "core.s3_utils": {"assay.s3": "list_s3_objects"},
    "core.locations": {"assay.event_files": "IndexFileLocationUtils TensorFileLocation"},
    "core.writer": {"assay.event_files": "FileWriter"},
    "profiler": {"assay.profiler.events": _PARSERS + " ProfilerSystemEvents SystemProfilerEventParser TraceEvent TraceEventParser",
                 "assay.profiler.readers": _READERS + " " + _EVENT_READERS + " MetricsReaderBase"},
    "profiler.algorithm_metrics_reader": {"assay.profiler.readers": _EVENT_READERS},
    "profiler.metrics_reader_base": {"assay.profiler.readers": "MetricsReaderBase"},
    "profiler.system_metrics_reader": {"assay.profiler.readers": _READERS, "assay.profiler.events": "ProfilerSystemEvents"},
    "profiler.system_profiler_file_parser": {"assay.profiler.events": _SAMPLES},
    "profiler.tf_profiler_parser": {"assay.profiler.events": _PARSERS},
    "profiler.trace_event_file_parser": {"assay.profiler.events": _TRACE},
    "profiler.utils": {"assay.profiler.events": _PROFILER_UTILS},
    "profiler.profiler_constants": {"assay.profiler.constants": _PROFILER_CONSTANTS},
    "profiler.profiler_config": {"assay.profiler.configuration": "DataloaderProfilingConfig ProfileRange ProfilerConfig PythonProfilingConfig "
                                                                 "RotationPolicy TraceFile"},
    "profiler.profiler_config_parser": {"assay.profiler.configuration": "MetricsCategory ProfilerConfigParser get_profiler_config_parser "
                                                                        "reset_profiler_config_parser"},
    "profiler.python_profile_utils": {"assay.profiler.python_profiles": _OF_PYTHON, "assay.profiler.constants": "CPROFILE_NAME PYINSTRUMENT_NAME"},
    "profiler.python_profiler": {"assay.profiler.python_profiles": "cProfileTimer", "assay.profiler.constants":
                                 "CPROFILE_STATS_FILENAME PYINSTRUMENT_JSON_FILENAME PYINSTRUMENT_HTML_FILENAME"},
    "profiler.analysis": {},
    "profiler.analysis.python_profile_analysis": {"assay.profiler.python_profiles": "PythonProfileAnalysis PyinstrumentAnalysis cProfileAnalysis "
                                                                                    "PythonProfileModes StepPhase"},
    "profiler.analysis.python_stats_reader": {"assay.profiler.python_profiles": "LocalPythonStatsReader PythonStatsReader S3PythonStatsReader"},
    "profiler.analysis.utils": {},
    "profiler.analysis.utils.merge_timelines": {"assay.profiler.merged": "MergedTimeline MergeUnit"},
    "profiler.analysis.utils.pandas_data_analysis": {"assay.profiler.statistics": "JobStats PandasFrameAnalysis Resource StatsBy"},
    "profiler.analysis.utils.profiler_data_to_pandas": {"assay.profiler.frames": "PandasFrame"},
    "profiler.analysis.utils.python_profile_analysis_utils": {"assay.profiler.python_profiles":
        "Metrics PyinstrumentStepStats PythonProfileModes StepPhase StepPythonProfileStats cProfileFunctionStats cProfileStats"},
    "profiler.analysis.utils.pytorch_dataloader_analysis": {"assay.profiler.frames": "PT_dataloader_analysis"},
    "profiler.analysis.notebook_utils": {"assay.profiler.charts": "MetricsHistogram StepHistogram"},
    **{"profiler.analysis.notebook_utils." + module: {"assay.profiler.charts": name} for module, name in _CHARTS.items()},
    "pytorch": {"assay_hook": "Hook " + _HOOK + " " + _SINGLETON},
    "pytorch.collection": {"assay_hook": "Collection CollectionKeys CollectionManager"},
    "pytorch.hook": {"assay_hook": "Hook CollectionKeys"},
    "pytorch.singleton_utils": {"assay_hook": _SINGLETON},
    "rules": {"assay.rule": "Rule invoke_rule", "assay.req_tensors": "RequiredTensors RequiredTensorsForTrial"},
    "rules.req_tensors": {"assay.req_tensors": "RequiredTensors RequiredTensorsForTrial"},
    "rules.rule": {"assay.rule": "Rule"},
    "rules.rule_invoker": {"assay.rule": "invoke_rule"},
    "xgboost": {"assay_recording.xgboost": "Hook get_hook", "assay_hook": _HOOK + " " + _OTHERS},
    "xgboost.hook": {"assay_recording.xgboost": "Hook", "assay_hook": "CollectionKeys"},
    "xgboost.collection": {"assay_hook": "Collection CollectionKeys CollectionManager"},
    "xgboost.utils": {"assay_recording.xgboost": "is_xgb_1_3_and_later is_xgb_1_5_and_later is_xgb_1_7_and_later parse_tree_model"},
    "xgboost.singleton_utils": {"assay_recording.xgboost": "get_hook", "assay_hook": _OTHERS},
    "tensorflow": {"assay_recording.keras": "KerasHook Hook=KerasHook get_hook", "assay_hook": _HOOK + " " + _OTHERS, "assay.trial": "create_trial"},
    "tensorflow.collection": {"assay_hook": "Collection CollectionKeys CollectionManager"},
    "tensorflow.keras": {"assay_recording.keras": "KerasHook"},
    "tensorflow.singleton_utils": {"assay_recording.keras": "get_hook", "assay_hook": _OTHERS},
    "trials": {"assay.trial": "Trial LocalTrial S3Trial create_trial"},
    "trials.local_trial": {"assay.trial": "LocalTrial"},
    "trials.s3_trial": {"assay.trial": "S3Trial"},
    "trials.trial": {"assay.trial": "Trial"},
    "trials.utils": {"assay.trial": "create_trial"},
}
NOT_HERE = {"mxnet": "MXNet has ended; assay reads what was recorded with it",
            "tensorflow.session": "sessions of TensorFlow 1 are not recorded: assay_hook.Hook with hook.step() and hook.save_tensor()"}


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
        for place, reason in NOT_HERE.items():
            if name == place or name.startswith(place + "."):
                raise ImportError("%s: not in assay: %s" % (fullname, reason), name=fullname)
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
