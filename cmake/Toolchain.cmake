# Language level, flags that decide results, and optional build accelerators.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# No fused multiply-add: results must not depend on the machine that builds or
# runs (docs/numerics.md). For the same reason there is no -march=native.
add_compile_options(-ffp-contract=off)
# For all: gcc refuses precompiled headers if this differs.
add_compile_options(-pthread)

find_program(EK_CCACHE ccache)
if(EK_CCACHE)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros "${EK_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${EK_CCACHE}")
endif()

find_program(EK_MOLD mold)
find_program(EK_LLD ld.lld)
if(EK_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(EK_LLD)
  add_link_options(-fuse-ld=lld)
endif()
mark_as_advanced(EK_CCACHE EK_MOLD EK_LLD)
