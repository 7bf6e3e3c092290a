# Part of `cmake --install` (cmake/Install.cmake, which sets what is used here):
# systemd units, the config, and man pages of daemon and worker.

# What GNUInstallDirs makes of a folder with the prefix of now.
function(edgekiln_full_ folder out)
  cmake_path(IS_ABSOLUTE folder absolute)
  if(absolute)
    set(${out} "${folder}" PARENT_SCOPE)
  elseif(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND folder MATCHES "^etc")
    set(${out} "/${folder}" PARENT_SCOPE)
  else()
    set(${out} "${CMAKE_INSTALL_PREFIX}/${folder}" PARENT_SCOPE)
  endif()
endfunction()

# A man page that shows what the program itself answers to --help.
function(edgekiln_man_page_ program executable summary files)
  execute_process(COMMAND "${executable}" --help
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  # No line of it may be a request of roff.
  string(REGEX REPLACE "\n([.'])" "\n\\\\&\\1" text "${text}")
  string(STRIP "${text}" text)
  string(TOUPPER "${program}" PROGRAM)
  string(REPLACE "-" "\\-" PROGRAM "${PROGRAM}")
  string(REPLACE "-" "\\-" program_text "${program}")
  set(page "$ENV{DESTDIR}${mandir}/man8/${program}.8")
  configure_file("${EK_DEPLOY}/man/program.8.in" "${page}" @ONLY)
  message(STATUS "Installing: ${page}")
endfunction()

foreach(folder IN ITEMS bindir docdir mandir sysconfdir)
  string(TOUPPER ${folder} name)
  edgekiln_full_("${${name}}" ${folder})
endforeach()

file(READ "${EK_DEPLOY}/systemd/hardening.conf" hardening)
foreach(unit IN ITEMS edgekilnd.service edgekiln-worker@.service)
  set(file "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}")
  configure_file("${EK_DEPLOY}/systemd/${unit}.in" "${file}" @ONLY)
  message(STATUS "Installing: ${file}")
endforeach()
file(INSTALL "${EK_DEPLOY}/systemd/edgekiln.sysusers"
  DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/sysusers.d" RENAME edgekiln.conf)

# What an operator may have changed stays.
foreach(pair IN ITEMS "edgekilnd.txtpb edgekiln edgekilnd.txtpb"
                      "edgekiln-worker.default default edgekiln-worker")
  separate_arguments(pair)
  list(GET pair 0 source)
  list(GET pair 1 folder)
  list(GET pair 2 name)
  if(EXISTS "$ENV{DESTDIR}${sysconfdir}/${folder}/${name}")
    message(STATUS "Kept: $ENV{DESTDIR}${sysconfdir}/${folder}/${name}")
  else()
    file(INSTALL "${EK_DEPLOY}/etc/${source}"
      DESTINATION "${sysconfdir}/${folder}" RENAME "${name}")
  endif()
endforeach()

edgekiln_man_page_(edgekilnd "${EK_DAEMON}"
  "takes models from clients and gives work to edgekiln\\-worker"
  ".TP\n.I ${sysconfdir}/edgekiln/edgekilnd.txtpb\nThe config of the systemd unit edgekilnd.service.\n.TP\n.I /var/lib/edgekiln\nIts state.")
edgekiln_man_page_(edgekiln-worker "${EK_WORKER}"
  "executes compile and simulate stages for an edgekilnd"
  ".TP\n.I ${sysconfdir}/edgekiln/worker_secret\nWhat the unit edgekiln\\-worker@.service proves to its daemon to know.\n.TP\n.I ${sysconfdir}/default/edgekiln\\-worker\nFurther flags of that unit.")
