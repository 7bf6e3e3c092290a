# The Debian package: `tools/package`, or in a build folder `cpack`. What is in it
# is what cmake/Install.cmake installs, to /usr and /etc.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME edgekiln)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "edgekiln maintainers <maintainers@edgekiln.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "compile and profile ML models for embedded accelerators")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"edgekiln takes a trained model (ONNX, TensorFlow Lite) and the description of
an embedded accelerator, and answers with code the chip runs and the proof of
its cycles per layer, memory and accuracy, measured on the simulated chip.

The package has the command edgekiln, the daemon edgekilnd with its workers,
and their systemd units.")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/package")

# Folders as the package has them; DESTDIR makes /etc possible.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Of postinst: deb-systemd-helper is part of every Debian.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser")
# What makes firmware of targets without an accelerator.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "gcc-riscv64-unknown-elf, gcc-arm-none-eabi, clang, lld")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/deploy/debian/conffiles"
  "${PROJECT_SOURCE_DIR}/deploy/debian/postinst"
  "${PROJECT_SOURCE_DIR}/deploy/debian/postrm"
  "${PROJECT_SOURCE_DIR}/deploy/debian/prerm")
# Between installing and packing: what Debian wants otherwise.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/deploy/debian/arrange.cmake")
set(CPACK_EDGEKILN_DEBIAN "${PROJECT_SOURCE_DIR}/deploy/debian")

include(CPack)
