# EmbedFile.cmake - embed_file(INPUT OUTPUT NAME HEADER): writes OUTPUT, a C source with the bytes of INPUT as NAME[] and
# NAME_size, declared in HEADER. Done when the build is configured, and again when INPUT changes.
function(embed_file input output name header)
  file(READ ${input} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(CONFIGURE OUTPUT ${output} CONTENT "#include \"${header}\"\n\nconst unsigned char ${name}[] = {${bytes}};\nconst size_t ${name}_size = sizeof ${name};\n" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${input})
endfunction()
