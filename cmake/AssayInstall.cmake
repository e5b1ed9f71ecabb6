# AssayInstall.cmake - what `cmake --install` puts where, and how others find it: find_package(assay), pkg-config assay, or
# an environment module. The components are the Debian packages of AssayPackages.cmake: program, hook, reader and dev.
include(CMakePackageConfigHelpers)
set(ASSAY_RULES_DIR ${CMAKE_INSTALL_LIBDIR}/assay/rules) # shared objects with rules of one's own
set(ASSAY_JOBS_DIR ${CMAKE_INSTALL_DATADIR}/assay/jobs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/assay)

# assay::headers is all that a rule needs to compile: its symbols come from the program that loads it.
add_library(assay_headers INTERFACE)
target_include_directories(assay_headers INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(assay_headers PROPERTIES EXPORT_NAME headers)

set_target_properties(assay_hook_shared PROPERTIES EXPORT_NAME hook)
target_include_directories(assay_hook_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(assay_shared PROPERTIES EXPORT_NAME trial)
target_include_directories(assay_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS assay EXPORT assayTargets RUNTIME COMPONENT program)
install(TARGETS assay_headers assay_hook_shared EXPORT assayTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT hook NAMELINK_COMPONENT dev)
install(TARGETS assay_shared EXPORT assayTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT reader NAMELINK_COMPONENT dev)
install(DIRECTORY src/python/assay DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/python COMPONENT reader FILES_MATCHING PATTERN "*.py"
        PATTERN __pycache__ EXCLUDE)
# The reference's names, where no path leads by itself: the real smdebug may be installed.
install(DIRECTORY src/python/smdebug DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/drop-in COMPONENT reader FILES_MATCHING PATTERN "*.py"
        PATTERN __pycache__ EXCLUDE)
# The same as a package of its own, on Python's path: it conflicts with the real one. Only packages have it.
install(DIRECTORY src/python/smdebug DESTINATION lib/python3/dist-packages COMPONENT names EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py"
        PATTERN __pycache__ EXCLUDE)
install(FILES src/python/assay.pth DESTINATION lib/python3/dist-packages COMPONENT names EXCLUDE_FROM_ALL)
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
install(DIRECTORY DESTINATION ${ASSAY_RULES_DIR} COMPONENT program)

file(GLOB jobs CONFIGURE_DEPENDS jobs/*.json)
install(FILES ${jobs} DESTINATION ${ASSAY_JOBS_DIR} COMPONENT program)
install(DIRECTORY jobs/pilot jobs/examples jobs/notebooks DESTINATION ${ASSAY_JOBS_DIR} COMPONENT program)
install(DIRECTORY slurm DESTINATION ${CMAKE_INSTALL_DATADIR}/assay COMPONENT program USE_SOURCE_PERMISSIONS)

# Man pages name documents as docs/NAME.md, and documents name jobs/ and slurm/: both are found from DOCDIR.
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program PATTERN man EXCLUDE)
# Documents link to the pages of measurements.
file(GLOB measurements CONFIGURE_DEPENDS bench/*.md bench/*.svg)
install(FILES ${measurements} DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench COMPONENT program)
install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/assay COMPONENT program)
install(FILES src/cli/completion/assay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME assay
        COMPONENT program)
install(FILES src/cli/completion/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES src/cli/completion/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
file(RELATIVE_PATH data_from_doc /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_DATADIR}/assay)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/links)
foreach(folder jobs slurm)
  file(CREATE_LINK ${data_from_doc}/${folder} ${PROJECT_BINARY_DIR}/links/${folder} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/links/${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
endforeach()

# module use PREFIX/share/modulefiles && module load assay
set(module_dir ${CMAKE_INSTALL_DATADIR}/modulefiles/assay)
string(REGEX REPLACE "[^/]+" ".." up_from_module ${module_dir})
configure_file(cmake/packages/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION ${module_dir} RENAME ${PROJECT_VERSION} COMPONENT program)

install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/assay-config.cmake.in ${PROJECT_BINARY_DIR}/assay-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS ASSAY_RULES_DIR ASSAY_JOBS_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake ${PROJECT_BINARY_DIR}/assay-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# The prefix is found from the file's own place, so that `cmake --install --prefix` and DESTDIR need no new configuring.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR has to be relative to the prefix: it is ${CMAKE_INSTALL_LIBDIR}")
endif()
string(REGEX REPLACE "[^/]+" ".." up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/assay.pc.in ${PROJECT_BINARY_DIR}/assay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# cmake --build DIR --target uninstall: removes what the last `cmake --install` of this build directory wrote.
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
                  -DBIN=${CMAKE_INSTALL_BINDIR} -DRULES=${ASSAY_RULES_DIR}
                  -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake VERBATIM)
