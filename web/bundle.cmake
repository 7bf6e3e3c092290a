# Bundles a page and writes it as initializers of C++, run at build time:
#   cmake -DESBUILD=esbuild -DWEB=folder -DPAGE=report -DOUT=report.inc
#     -P bundle.cmake
# Beside OUT come OUT.d, the files that it is made of, and esbuild's own files.
cmake_path(GET OUT PARENT_PATH folder)
execute_process(
  COMMAND "${ESBUILD}" ${PAGE}/main.ts ${PAGE}/main.css --bundle --minify
    --format=iife --target=es2020 --charset=utf8 --log-level=warning
    "--outdir=${folder}/${PAGE}" "--metafile=${folder}/${PAGE}.json"
  WORKING_DIRECTORY "${WEB}" COMMAND_ERROR_IS_FATAL ANY)

set(text "")
foreach(file IN ITEMS "${folder}/${PAGE}/main.css" "${folder}/${PAGE}/main.js"
    "${WEB}/${PAGE}/body.html")
  file(READ "${file}" content)
  string(APPEND text "R\"EKTEXT(${content})EKTEXT\",\n")
endforeach()
file(WRITE "${OUT}" "${text}")

file(READ "${folder}/${PAGE}.json" meta)
string(JSON last LENGTH "${meta}" inputs)
math(EXPR last "${last} - 1")
set(rule "${OUT}:")
foreach(i RANGE ${last})
  string(JSON name MEMBER "${meta}" inputs ${i})
  string(APPEND rule " ${WEB}/${name}")
endforeach()
file(WRITE "${OUT}.d" "${rule}\n")
