# Runs in cpack, once everything is installed into a folder of its own: adds what
# Debian wants of a package, and compresses what it wants compressed.
set(root "${CPACK_TEMPORARY_DIRECTORY}")
set(doc "${root}/usr/share/doc/edgekiln")

file(COPY "${CPACK_EDGEKILN_DEBIAN}/changelog"
          "${CPACK_EDGEKILN_DEBIAN}/copyright" DESTINATION "${doc}")
# The copyright file names the licence, of which Debian has one copy.
file(REMOVE "${doc}/LICENSE")
file(COPY "${CPACK_EDGEKILN_DEBIAN}/lintian-overrides"
  DESTINATION "${root}/usr/share/lintian/overrides")
file(RENAME "${root}/usr/share/lintian/overrides/lintian-overrides"
  "${root}/usr/share/lintian/overrides/edgekiln")
# Where Debian's zsh looks.
file(RENAME "${root}/usr/share/zsh/site-functions"
  "${root}/usr/share/zsh/vendor-completions")

file(GLOB_RECURSE pages "${root}/usr/share/man/*")
execute_process(COMMAND gzip -9n ${pages} "${doc}/changelog"
  COMMAND_ERROR_IS_FATAL ANY)
