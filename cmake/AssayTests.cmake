# AssayTests.cmake - how the tests of assay are registered with CTest.

# assay_script_test(NAME name LABELS label... COMMAND program args... [TIMEOUT seconds] [PROCESSORS n] [LOCK name])
# One script, one test: it fails by its exit code. Scripts find the trials in ASSAY_TRIALS and mpirun in ASSAY_MPIRUN
# ("none" in builds without MPI), and rules in Python the interpreter that has numpy.
function(assay_script_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT;PROCESSORS;LOCK" "COMMAND;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900) # it ends what hangs; on a slow machine some tests take 300
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set(launcher none)
  if(ASSAY_WITH_MPI)
    set(launcher ${MPIEXEC_EXECUTABLE})
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                       PROCESSORS ${arg_PROCESSORS} RESOURCE_LOCK "${arg_LOCK}"
                       ENVIRONMENT "ASSAY_OVERWRITE=1;ASSAY_TRIALS=${ASSAY_TRIALS};ASSAY_MPIRUN=${launcher};ASSAY_PYTHON=${Python3_EXECUTABLE}")
  # A fresh build directory has no times of earlier runs. What waits for a lock, and what takes a minute, begins first, so that nothing
  # long is left at the end for one processor.
  if(arg_LOCK)
    set_tests_properties(${arg_NAME} PROPERTIES COST 100)
  elseif(arg_NAME MATCHES
         "^(docs.developing.follow|e2e.(first-line|hostile-trials|partly-read|planted-secrets|why)|install.packages|laws.omissions|mpi.(ends|logs|pack-failures.faults|series|traces|watch)|s3.reading|torture.walk.short)$")
    set_tests_properties(${arg_NAME} PROPERTIES COST 50)
  endif()
  if(arg_LABELS MATCHES "hosts|slurm") # each of several hosts has a /dev/shm of its own, where tests/run has all files
    set_property(TEST ${arg_NAME} APPEND PROPERTY ENVIRONMENT_MODIFICATION TMPDIR=unset:)
  endif()
endfunction()

# assay_mpi_test(NAME name SCRIPT file [RANKS n...] [ARGS ...] [LABELS ...] [TIMEOUT seconds] [LOCK name])
# Runs `python3 SCRIPT --assay PROGRAM [--ranks n... --] ARGS...` as mpi.NAME, or in builds without MPI as e2e.NAME on one
# rank. tests/support/launch.py lets ranks that wait give up their core, so two such tests run beside each other.
function(assay_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SCRIPT;TIMEOUT;LOCK" "RANKS;LABELS;ARGS")
  set(command ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} --assay $<TARGET_FILE:assay>)
  set(kind mpi)
  if(NOT ASSAY_WITH_MPI)
    set(kind e2e)
    set(arg_RANKS 1)
  endif()
  if(arg_RANKS)
    list(APPEND command --ranks ${arg_RANKS})
    if(arg_ARGS)
      list(APPEND command --)
    endif()
  endif()
  assay_script_test(NAME ${kind}.${arg_NAME} LABELS ${kind} ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} LOCK ${arg_LOCK}
                    COMMAND ${command} ${arg_ARGS})
endfunction()
