#!/bin/sh
# Runs the link command it is given with the archives of shared libraries,
# where the system has them:   link_archives.sh c++ main.o -o prog libgrpc.so
#
# For programs that people start many times: looking up the symbols of gRPC,
# Protobuf and Abseil takes the dynamic linker longer than all the rest of
# `edgekiln --version`. The C library and what belongs to it stay shared.
compiler=$1
shift
for arg do
  shift
  case $arg in
    /usr/*.so | /usr/*.so.[0-9]*)
      archive=${arg%%.so*}.a
      [ -f "$archive" ] && arg=$archive
      ;;
    -lre2) arg=-l:libre2.a ;;  # Of gRPC, without a path.
  esac
  set -- "$@" "$arg"
done
# Archives name each other in circles.
exec "$compiler" -static-libstdc++ -static-libgcc -Wl,--gc-sections \
  -Wl,--start-group "$@" -Wl,--end-group
