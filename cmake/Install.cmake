# `cmake --install`: the three programs, and what the shell and man know of
# them. The command itself writes that, so that it is of the same version.
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
