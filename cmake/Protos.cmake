# edgekiln_proto_library(<name> [PROTOS ...] [SERVICES ...] [DEPS ...])
# C++ of .proto files given relative to proto/, included the same way:
# "edgekiln/v1/graph.pb.h". SERVICES are those that define a gRPC service; they
# also get a "*.grpc.pb.h".
function(edgekiln_proto_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PROTOS;SERVICES;DEPS")
  edgekiln_no_stray_arguments_(${name} "${arg_UNPARSED_ARGUMENTS}")
  set(in_dir "${PROJECT_SOURCE_DIR}/proto")
  set(out_dir "${PROJECT_BINARY_DIR}/generated/proto")
  file(MAKE_DIRECTORY "${out_dir}")
  set(outputs "")
  set(inputs "")
  foreach(proto IN LISTS arg_PROTOS arg_SERVICES)
    string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
    set(made "${out_dir}/${stem}.pb.cc" "${out_dir}/${stem}.pb.h")
    set(grpc_flags "")
    if(proto IN_LIST arg_SERVICES)
      list(APPEND made
        "${out_dir}/${stem}.grpc.pb.cc" "${out_dir}/${stem}.grpc.pb.h")
      set(grpc_flags "--grpc_out=${out_dir}"
        "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    endif()
    add_custom_command(OUTPUT ${made}
      COMMAND protobuf::protoc "-I${in_dir}" "--cpp_out=${out_dir}"
        ${grpc_flags} "${in_dir}/${proto}"
      DEPENDS "${in_dir}/${proto}"
      COMMENT "protoc ${proto}" VERBATIM)
    list(APPEND outputs ${made})
    list(APPEND inputs "${in_dir}/${proto}")
  endforeach()
  add_library(${name} STATIC ${outputs})
  add_library(edgekiln::${name} ALIAS ${name})
  # Optimising generated code further buys nothing measurable; it is the
  # largest part of a build from scratch.
  target_compile_options(${name} PRIVATE -O1 -w)
  target_include_directories(${name} SYSTEM PUBLIC "${out_dir}")
  target_link_libraries(${name} PUBLIC ${arg_DEPS} protobuf::libprotobuf)
  if(arg_SERVICES)
    target_link_libraries(${name} PUBLIC gRPC::grpc++)
  endif()
  set_target_properties(${name} PROPERTIES EK_VERSION_FILES "${inputs}")
  if(NOT EK_BUILD_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
