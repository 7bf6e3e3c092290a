# Writes the kernel library as bytes for a C++ array, run at build time:
#   cmake -DOUT=file.inc -DPROTOC=protoc -DPROTOS=folder -DTEXT=kernels.txtpb
#     -P embed_kernels.cmake
# A text that is not of the schema ends the build.
execute_process(
  COMMAND "${PROTOC}" "-I${PROTOS}" --encode=edgekiln.v1.KernelLibrary
    edgekiln/v1/kernel_library.proto
  INPUT_FILE "${TEXT}" OUTPUT_FILE "${OUT}.pb" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${TEXT} is not a KernelLibrary")
endif()
file(READ "${OUT}.pb" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE "${OUT}" "${bytes}\n")
