# cmake -DVERSION=... -DOUT=FILE -P version.cmake: runs in every build, and writes FILE anew only where version or commit changed.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH root)
set(commit "")
find_program(git git)
if(git)
  # "", unless this lies in somebody else's repository; an error without one.
  execute_process(COMMAND ${git} -C ${root} rev-parse --show-prefix --short HEAD
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND answer MATCHES "^\n([0-9a-f]+)\n$")
    set(commit ${CMAKE_MATCH_1})
    execute_process(COMMAND ${git} -C ${root} diff --quiet HEAD -- CMakeLists.txt app cuda lib third_party
      ERROR_QUIET RESULT_VARIABLE changed)
    if(changed)
      string(APPEND commit "+")
    endif()
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.cpp.in ${OUT} @ONLY)
