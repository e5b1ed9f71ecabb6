# AssayInstall.cmake - what `cmake --install` puts where, and how others find it: find_package(assay) or pkg-config assay.
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
install(TARGETS assay assay_headers assay_hook_shared EXPORT assayTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
file(GLOB jobs CONFIGURE_DEPENDS jobs/*.json)
install(FILES ${jobs} DESTINATION ${ASSAY_JOBS_DIR})
install(DIRECTORY jobs/pilot DESTINATION ${ASSAY_JOBS_DIR})
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir})
configure_package_config_file(cmake/assay-config.cmake.in ${PROJECT_BINARY_DIR}/assay-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS ASSAY_RULES_DIR ASSAY_JOBS_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake ${PROJECT_BINARY_DIR}/assay-config-version.cmake
        DESTINATION ${package_dir})

# The prefix is found from the file's own place, so that `cmake --install --prefix` and DESTDIR need no new configuring.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR has to be relative to the prefix: it is ${CMAKE_INSTALL_LIBDIR}")
endif()
string(REGEX REPLACE "[^/]+" ".." up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/assay.pc.in ${PROJECT_BINARY_DIR}/assay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
