# Writes files as rows of a table of C++, run at build time:
#   cmake -DOUT=file -DFILES=a.c|b.h -P EmbedText.cmake
# gives {"a.c", R"EKTEXT(...)EKTEXT"}, and so on.
string(REPLACE "|" ";" files "${FILES}")
set(text "")
foreach(file IN LISTS files)
  file(READ "${file}" content)
  get_filename_component(name "${file}" NAME)
  string(APPEND text "{\"${name}\", R\"EKTEXT(${content})EKTEXT\"},\n")
endforeach()
file(WRITE "${OUT}" "${text}")
