# One ctest per Catch2 tag group would start the binary often; one per layer folder tells enough and starts fast.
file(GLOB test_folders RELATIVE ${CMAKE_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*)
foreach(folder ${test_folders})
  file(GLOB has_cpp CONFIGURE_DEPENDS tests/${folder}/*_test.cpp)
  if(has_cpp)
    add_test(NAME ${folder} COMMAND roll_tests --filenames-as-tags -r compact)
  endif()
endforeach()
