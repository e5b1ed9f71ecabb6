# AssayPackages.cmake - Debian packages by `cpack -G DEB`: assay (the program), libassay-hook0 (the recording library, for C
# and Python), libassay0 (the reading library, likewise) and libassay-dev (what is needed to build custom rules and trainings). Other packages: cmake/packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_CONTACT "The assay maintainers <assay@example.org>" CACHE STRING "Maintainer of packages: Name <mail>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program hook reader dev names)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME assay)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libassay0, python3-numpy") # for rules in Python
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "analysis of recorded machine-learning trainings
 assay reads the tensors that large trainings recorded, in parallel under MPI,
 tests them with rules, and writes one report: what went wrong, where first,
 and on which worker.")

set(CPACK_DEBIAN_HOOK_PACKAGE_NAME libassay-hook0)
set(CPACK_DEBIAN_HOOK_PACKAGE_PROVIDES libassay-hook)
set(CPACK_DEBIAN_HOOK_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_HOOK_DESCRIPTION "recording of machine-learning trainings for assay
 The recording library for training programs in C, C++, Fortran and Python.
 It needs neither MPI nor assay itself.")
set(CPACK_DEBIAN_HOOK_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/packages/debian/triggers)

set(CPACK_DEBIAN_READER_PACKAGE_NAME libassay0)
set(CPACK_DEBIAN_READER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_READER_DESCRIPTION "reading of recorded machine-learning trainings
 What assay knows of a recorded training, for programs in C and Python: steps,
 workers, tensors, their values and statistics. It needs neither MPI nor assay
 itself; the Python package needs numpy.")
set(CPACK_DEBIAN_READER_PACKAGE_SUGGESTS "python3-numpy, python3-pandas")
set(CPACK_DEBIAN_READER_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/packages/debian/triggers)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libassay-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "assay (= ${PROJECT_VERSION}-1), libassay-hook0 (= ${PROJECT_VERSION}-1), libassay0 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_DESCRIPTION "development files of assay
 Headers, pkg-config files and CMake files to build rules that assay loads,
 training programs that record themselves, and programs that read recordings.")

set(CPACK_DEBIAN_NAMES_PACKAGE_NAME python3-assay-smdebug)
set(CPACK_DEBIAN_NAMES_PACKAGE_SECTION python)
set(CPACK_DEBIAN_NAMES_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_NAMES_PACKAGE_DEPENDS "python3, python3-numpy, libassay0 (= ${PROJECT_VERSION}-1), libassay-hook0 (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_NAMES_PACKAGE_CONFLICTS python3-smdebug)
set(CPACK_DEBIAN_NAMES_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_NAMES_DESCRIPTION "names of SageMaker Debugger for assay
 The package smdebug by assay: scripts that import smdebug run unchanged. It
 cannot stand beside the real one.")

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packages/debian/compress.cmake)

# Debian's own papers, in each package. They are part of packages only.
find_program(GZIP gzip)
if(GZIP)
  set(changelog ${PROJECT_BINARY_DIR}/changelog.Debian)
  configure_file(cmake/packages/debian/changelog.in ${changelog} @ONLY)
  execute_process(COMMAND ${GZIP} -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  foreach(component program hook reader dev names)
    string(TOUPPER ${component} upper)
    set(folder ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    install(FILES cmake/packages/debian/copyright DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${changelog}.gz DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
  endforeach()
endif()
include(CPack)
