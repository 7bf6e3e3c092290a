# Writes target/builtin_data.inc from descriptor files, run at build time:
#   cmake -DOUT=file -DFILES=a.txtpb|b.txtpb -P embed_data.cmake
string(REPLACE "|" ";" files "${FILES}")
set(text "")
foreach(file IN LISTS files)
  file(READ "${file}" content)
  get_filename_component(name "${file}" NAME_WE)
  string(APPEND text "{\"${name}\", R\"EKDATA(${content})EKDATA\"},\n")
endforeach()
file(WRITE "${OUT}" "${text}")
