# Writes the commit of the sources into FILE, as C; only when it changed, so that nothing is compiled again otherwise. Sources without
# git, such as a package's, have no commit.
#   cmake -DSOURCE=... -DFILE=... -P WriteCommit.cmake
set(commit "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "extern const char cli_commit[];\nconst char cli_commit[] = \"${commit}\";\n")
