# AssayPackages.cmake - Debian packages by `cpack -G DEB`, and the same ones as RPM by `cpack -G RPM`: assay (the program), libassay-hook0 (the recording library, for C
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

# RPM finds out by itself which libraries a package needs and has. Names are those of Debian: no distribution of RPMs has any yet.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_VENDOR none)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/cmake /usr/lib/pkgconfig /usr/lib/python3 /usr/lib/python3/dist-packages
    /usr/share/man /usr/share/man/man1 /usr/share/doc /usr/share/modulefiles /usr/share/bash-completion /usr/share/zsh /usr/share/fish) # others' folders
foreach(component program hook reader dev names)
  string(TOUPPER ${component} upper)
  set(CPACK_RPM_${component}_PACKAGE_NAME ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  string(REGEX REPLACE "\n.*" "" CPACK_RPM_${component}_PACKAGE_SUMMARY "${CPACK_DEBIAN_${upper}_DESCRIPTION}")
  string(REGEX REPLACE "^[^\n]*\n" "" CPACK_RPM_${component}_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_${upper}_DESCRIPTION}")
endforeach()
set(CPACK_RPM_dev_PACKAGE_REQUIRES "assay = ${PROJECT_VERSION}-1, libassay-hook0 = ${PROJECT_VERSION}-1, libassay0 = ${PROJECT_VERSION}-1")
set(CPACK_RPM_names_PACKAGE_REQUIRES "libassay0 = ${PROJECT_VERSION}-1, libassay-hook0 = ${PROJECT_VERSION}-1")
set(CPACK_RPM_names_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_hook_POST_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packages/rpm/ldconfig)
set(CPACK_RPM_hook_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packages/rpm/ldconfig)
set(CPACK_RPM_reader_POST_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packages/rpm/ldconfig)
set(CPACK_RPM_reader_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packages/rpm/ldconfig)

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
