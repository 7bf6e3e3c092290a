# Writes a file as the elements of an array of C++, run at build time:
#   cmake -DOUT=file -DFILE=a.bin -P EmbedBytes.cmake
file(READ "${FILE}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
  bytes "${bytes}")
file(WRITE "${OUT}" "${bytes}")
