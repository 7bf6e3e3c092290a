# `cmake --install`: the three programs, what the shell and man know of them,
# systemd units, a config to start from, pages and messages. Programs write their
# own pages, so that these are of the same version.
include(GNUInstallDirs)
install(TARGETS edgekiln edgekilnd edgekiln-worker)
install(CODE "
  function(edgekiln_say file)
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\")
    execute_process(COMMAND \"$<TARGET_FILE:edgekiln>\" \${ARGN}
      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\${file}\" \"\${text}\")
    message(STATUS \"Installing: \${file}\")
  endfunction()
  edgekiln_say(${CMAKE_INSTALL_DATADIR}/bash-completion/completions/edgekiln
    completion bash)
  edgekiln_say(${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_edgekiln
    completion zsh)
  execute_process(COMMAND \"$<TARGET_FILE:edgekiln>\" man --list
    OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL \"[^\\n]+\" pages \"\${pages}\")
  foreach(page IN LISTS pages)
    edgekiln_say(${CMAKE_INSTALL_MANDIR}/man1/\${page}.1 man \${page})
  endforeach()
")

# Units name the folders they are installed to, which cpack and --prefix decide.
install(CODE "
  set(EK_DEPLOY \"${PROJECT_SOURCE_DIR}/deploy\")
  set(EK_DAEMON \"$<TARGET_FILE:edgekilnd>\")
  set(EK_WORKER \"$<TARGET_FILE:edgekiln-worker>\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(BINDIR \"${CMAKE_INSTALL_BINDIR}\")
  set(DOCDIR \"${CMAKE_INSTALL_DOCDIR}\")
  set(MANDIR \"${CMAKE_INSTALL_MANDIR}\")
  set(SYSCONFDIR \"${CMAKE_INSTALL_SYSCONFDIR}\")
")
install(SCRIPT "${PROJECT_SOURCE_DIR}/deploy/install.cmake")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# What pipelines run (docs/check.md).
install(PROGRAMS deploy/ci/check.sh
  DESTINATION "${CMAKE_INSTALL_DATADIR}/edgekiln/ci")

# What clients of the API are generated from, and config.proto.
install(DIRECTORY proto/ DESTINATION "${CMAKE_INSTALL_DATADIR}/edgekiln/proto"
  FILES_MATCHING PATTERN "*.proto")
