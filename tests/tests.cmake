# What ctest runs: one entry per folder of Catch2 tests, one per Python file that drives the binary, one for all tests that
# want two ranks, one for those that want a GPU. Exit code 77 means skipped, and says why.

# A folder's tests are picked by their file names (-# makes each a tag), so that none is lost to a forgotten tag.
set(kNotPlain "~[mpi]~[gpu]")
file(GLOB test_folders RELATIVE ${CMAKE_SOURCE_DIR}/tests CONFIGURE_DEPENDS tests/*)
foreach(folder ${test_folders})
  file(GLOB test_files CONFIGURE_DEPENDS tests/${folder}/*_test.cpp)
  set(specs "")
  foreach(file ${test_files})
    get_filename_component(name ${file} NAME_WE)
    list(APPEND specs "[#${name}]${kNotPlain}")
  endforeach()
  if(specs)
    list(JOIN specs "," specs)
    add_test(NAME ${folder} COMMAND roll_tests -\# -r compact ${specs})
  endif()
endforeach()

# roll_tagged_test(tag [launcher...]): all Catch2 tests that carry [tag], if any does.
function(roll_tagged_test tag)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS tests/*_test.cpp)
  foreach(file ${files})
    file(STRINGS ${file} found REGEX "TEST_CASE.*\\[${tag}\\]" LIMIT_COUNT 1)
    if(found)
      add_test(NAME ${tag} COMMAND ${ARGN} $<TARGET_FILE:roll_tests> -r compact "[${tag}]")
      set_tests_properties(${tag} PROPERTIES SKIP_RETURN_CODE 77 LABELS ${tag})
      return()
    endif()
  endforeach()
endfunction()
set(options_of_mpirun --oversubscribe --allow-run-as-root --bind-to none)
roll_tagged_test(mpi ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${options_of_mpirun})
roll_tagged_test(many ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 9 ${options_of_mpirun})  # more than kFewRanks
roll_tagged_test(gpu ${CMAKE_SOURCE_DIR}/scripts/with_gpu.sh)
get_property(catch2_tests DIRECTORY PROPERTY TESTS)
# They wait until roll_tests is built; in a folder where only the program is, the tests of that one run meanwhile.
add_test(NAME build_tests COMMAND nice -n 5 ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target roll_tests --parallel 2)

# The machine code of kernels, as no GPU is needed to read it.
if(ROLL_CUDA)
  add_test(NAME sass COMMAND sh -c "exec \"\${ROLL_PYTHON:-python3}\" \"$@\"" sh ${CMAKE_SOURCE_DIR}/scripts/check_sass.py
    "$<FILTER:$<TARGET_OBJECTS:roll_light>,INCLUDE,\\.cu\\.o$>" COMMAND_EXPAND_LISTS)
  set_tests_properties(sass PROPERTIES SKIP_RETURN_CODE 77)
endif()

# Tests run in the checkout, and know programs from there.
file(RELATIVE_PATH built ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
# What the launch tests start.
add_executable(dist_ranks tests/dist/ranks_main.cpp)
target_link_libraries(dist_ranks PRIVATE roll_lib)
link_cuda_late(dist_ranks)
target_precompile_headers(dist_ranks REUSE_FROM roll_aten)
add_dependencies(roll_tests dist_ranks)
target_compile_definitions(roll_tests PRIVATE ROLL_DIST_RANKS="${built}/$<TARGET_FILE_NAME:dist_ranks>")

# What tests of environments load.
add_library(roll_test_environments MODULE tests/environment_plugin/my_environments.cpp)
target_include_directories(roll_test_environments PRIVATE lib/environment)
add_dependencies(roll_tests roll_test_environments)
target_compile_definitions(roll_tests PRIVATE ROLL_TEST_ENVIRONMENTS="${built}/$<TARGET_FILE_NAME:roll_test_environments>")

# What most Python tests are given as the program: it, forked behind LibTorch's start instead of started (tests/forked).
add_library(roll_fork_server MODULE tests/forked/server.cpp)
add_executable(roll_forked tests/forked/client.cpp)
set_target_properties(roll_forked PROPERTIES OUTPUT_NAME roll RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/forked)
target_link_options(roll_forked PRIVATE -static)
add_dependencies(roll_forked roll roll_fork_server)  # all that tests of the program want
if(ROLL_XGRAMMAR)
  add_dependencies(roll_forked roll_grammar roll_grammar_library)
endif()
add_custom_command(TARGET roll_forked POST_BUILD  # the program looks for it beside itself
  COMMAND ${CMAKE_COMMAND} -E create_symlink ../libroll_arrow.so ${CMAKE_BINARY_DIR}/forked/libroll_arrow.so
  COMMAND ${CMAKE_COMMAND} -E create_symlink ../libroll_grammar.so ${CMAKE_BINARY_DIR}/forked/libroll_grammar.so
  COMMAND ${CMAKE_COMMAND} -E create_symlink ../roll_grammar ${CMAKE_BINARY_DIR}/forked/roll_grammar)
target_compile_definitions(roll_fork_server PRIVATE ROLL_FORK_CLIENT="$<TARGET_FILE:roll_forked>")
target_compile_definitions(roll_forked PRIVATE
  ROLL_BINARY="$<TARGET_FILE:roll>" ROLL_FORK_SERVER="$<TARGET_FILE:roll_fork_server>")
foreach(target roll_fork_server roll_forked)
  target_include_directories(${target} PRIVATE tests)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict)
endforeach()
# Those that look at a process as such (its parent, signals, limits, threads, memory or libraries) start it.
set(kStarted e2e/boxed_environment_test cli/broken_parquet_test cli/doctor_test cli/hostile_clients_test cli/parquet_rows_test cli/response_format_test cli/serve_test cli/threads_test cli/version_test
  e2e/agent_test e2e/outside_agents_test e2e/apart_ends_test e2e/code_sandbox_test e2e/cuda_library_test e2e/full_disk_test e2e/gone_test
  e2e/gpu_generate_test e2e/gpu_mesh_test e2e/hostile_test e2e/hosts_test e2e/large_rows_test e2e/long_context_test e2e/memory_test e2e/new_run_test e2e/packages_test
  e2e/plugin_test e2e/environment_plugin_test e2e/real_model_test e2e/restarts_test e2e/resume_test e2e/reward_plugin_test e2e/sets_test e2e/stops_test e2e/strangers_test
  e2e/try_gpu_check_test)

# Python files drive the real binary: FILE BINARY. The Python is ROLL_PYTHON's, which has the wheels of tests/requirements.txt.
foreach(folder cli e2e)
  file(GLOB python_tests CONFIGURE_DEPENDS tests/${folder}/*_test.py tests/${folder}/run_*.py)
  foreach(file ${python_tests})
    get_filename_component(name ${file} NAME_WE)
    set(program roll_forked)
    if("${folder}/${name}" IN_LIST kStarted)
      set(program roll)
    endif()
    add_test(NAME ${folder}/${name} COMMAND sh -c "exec \"\${ROLL_PYTHON:-python3}\" \"$0\" \"$1\"" ${file} $<TARGET_FILE:${program}>)
    set_tests_properties(${folder}/${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS ${folder})
    if(name MATCHES "^gpu_")
      set_tests_properties(${folder}/${name} PROPERTIES LABELS gpu)
    endif()
  endforeach()
endforeach()

# What takes longest begins first; ctest itself knows no times in a fresh folder.
set(kSlow build_tests cli/hostile_clients_test cli/growth_test e2e/packages_test e2e/code_sandbox_test e2e/resume_test e2e/mesh_test job e2e/judge_test e2e/hosts_test e2e/resume_kinds_test e2e/ahead_test
  e2e/restarts_test e2e/full_disk_test e2e/apart_ends_test e2e/failing_rewards_test e2e/layout_test e2e/stops_test
  e2e/hostile_test e2e/large_rows_test e2e/real_model_test model rollout e2e/memory_test cli/broken_parquet_test e2e/screen_test e2e/placement_test e2e/plugin_test
  e2e/new_run_test experience forecast dist e2e/five_domains_test e2e/simulate_test cli/run_broken e2e/curriculum_test cli/parquet_rows_test preview e2e/step_test)
list(LENGTH kSlow cost)
foreach(test ${kSlow})
  set_tests_properties(${test} PROPERTIES COST ${cost})
  math(EXPR cost "${cost} - 1")
endforeach()

# Every entry has one thread, as more threads than cores would only slow all. Of ctest's eight places a test takes two, one that mostly
# waits (for deadlines, servers, a screen) one, and a job of several ranks four: beside each other they would wait for each other's turns.
set(kWaiting job cli/hostile_clients_test e2e/failing_rewards_test e2e/full_disk_test e2e/hosts_test e2e/judge_test e2e/restarts_test e2e/screen_test e2e/stops_test
  e2e/strangers_test)
set(kRanks dist experience mpi many e2e/agent_test e2e/boxed_environment_test e2e/environment_plugin_test e2e/outside_agents_test e2e/ahead_test e2e/contexts_test e2e/environment_test e2e/experts_test e2e/five_domains_test e2e/layout_test e2e/long_context_test e2e/mtp_test e2e/lora_roles_test
  e2e/lora_test e2e/memory_test e2e/mesh_test e2e/muon_test
  e2e/packing_test e2e/pipeline_test e2e/placement_test e2e/recompute_test e2e/resume_test e2e/resume_kinds_test e2e/resume_layout_test e2e/rollout_only_test e2e/simulate_test e2e/stages_test
  e2e/step_test e2e/traffic_test)
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_tests_properties(${all_tests} PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;OMPI_MCA_rmaps_base_oversubscribe=1" TIMEOUT 600 PROCESSORS 2)
set_tests_properties(${kWaiting} PROPERTIES PROCESSORS 1)
set_tests_properties(${kRanks} PROPERTIES PROCESSORS 4)
# mpiruns that the tests start themselves share a session folder, which one may remove as another makes it.
set_tests_properties(mpi many cli/threads_test PROPERTIES RESOURCE_LOCK mpirun)
set_tests_properties(build_tests PROPERTIES TIMEOUT 3600 PROCESSORS 4 FIXTURES_SETUP roll_tests)
set_tests_properties(${catch2_tests} cli/growth_test e2e/try_gpu_check_test PROPERTIES FIXTURES_REQUIRED roll_tests)
