# One folder of src/ is one component: a static library ks_<folder>, its unit tests, and the folders
# it uses.

add_library(ks_flags INTERFACE)
target_include_directories(ks_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(ks_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
                       -Wnon-virtual-dtor
                       # The interpreter's rounding must be what the source says.
                       -ffp-contract=off)
if(KS_WERROR)
  target_compile_options(ks_flags INTERFACE -Werror)
endif()
# For shared libraries: what they need they must link to. The sanitizers' runtime is in the program.
set(KS_NO_UNDEFINED -Wl,--no-undefined)
set(KS_TIME_FACTOR 1)  # for time limits of tests
if(KS_SANITIZE)
  set(KS_NO_UNDEFINED "")
  set(KS_TIME_FACTOR 10)
  # Not `function`: it looks for a type in front of the function that a pointer is called by, where
  # compiled kernels have none, and perhaps no memory either.
  set(KS_SANITIZE_OPTIONS -fsanitize=${KS_SANITIZE} -fno-sanitize=function -fno-sanitize-recover=all
                          -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KS_SANITIZE})
  if(NOT KS_SANITIZE_ONLY)
    # Options of the whole tree, not of ks_flags: fuzzers and tests must carry them as well.
    add_compile_options(${KS_SANITIZE_OPTIONS})
  endif()
endif()

# ks_sanitize(TARGET FOLDER): the sanitizers' options for a target of a folder in KS_SANITIZE_ONLY.
# Less optimisation: compiling takes longer than running here.
function(ks_sanitize target folder)
  if(folder IN_LIST KS_SANITIZE_ONLY)
    target_compile_options(${target} PRIVATE ${KS_SANITIZE_OPTIONS} -O1 -gline-tables-only)
  endif()
endfunction()

# Most of the time of a build goes into reading the headers of outside libraries, so they are read
# once, for libraries and for test programs (which are compiled with other options). Sources still
# include what they use: KS_PRECOMPILE=OFF shows what is missing, and so does `make asan-hostile` for
# the folders that it sanitizes.
option(KS_PRECOMPILE "read the headers of outside libraries once" ON)
if(KS_PRECOMPILE)
  add_library(ks_precompiled STATIC ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  add_executable(ks_precompiled_test ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(ks_precompiled PRIVATE ks_flags)
  target_link_libraries(ks_precompiled_test PRIVATE ks_flags GTest::gmock)
  target_precompile_headers(ks_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
  target_precompile_headers(ks_precompiled_test PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h <gmock/gmock.h>
                            <gtest/gtest.h>)
  # ccache knows a precompiled header by its content, which must not tell the time.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# ks_command_line(TARGET): for sources that are mostly made of CLI11's templates, which are in headers
# alone and take most of the compiler's time when they are optimised. Nothing in them is a matter of
# speed.
function(ks_command_line target)
  target_compile_options(${target} PRIVATE -O0)
  if(KS_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h <CLI/CLI.hpp>)
  endif()
endfunction()

# ks_precompiled(TARGET FOLDER FROM): TARGET uses what was precompiled for FROM. Folders that alone
# are sanitized have other options.
function(ks_precompiled target folder from)
  if(KS_PRECOMPILE AND NOT folder IN_LIST KS_SANITIZE_ONLY)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# ks_component(SOURCES a.cc ... [TESTS a_test.cc ...] [USES support ptx ...] [LINKS fmt::fmt ...]
#              [TEST_LINKS ...] [COMMAND_LINE])
# Call it in src/<folder>/CMakeLists.txt. USES lists folders, LINKS outside libraries. Each test file
# becomes part of one GoogleTest program ks_<folder>_test; each of its cases is a CTest test.
# COMMAND_LINE: see ks_command_line.
function(ks_component)
  cmake_parse_arguments(ARG "COMMAND_LINE" "" "SOURCES;TESTS;USES;LINKS;TEST_LINKS" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  list(FIND KS_FOLDERS ${folder} own_position)
  add_library(ks_${folder} STATIC ${ARG_SOURCES})
  target_link_libraries(ks_${folder} PUBLIC ks_flags)
  ks_sanitize(ks_${folder} ${folder})
  if(ARG_COMMAND_LINE)
    ks_command_line(ks_${folder})
  else()
    ks_precompiled(ks_${folder} ${folder} ks_precompiled)
  endif()
  foreach(used IN LISTS ARG_USES)
    list(FIND KS_FOLDERS ${used} used_position)
    if(used_position EQUAL -1 OR NOT used_position LESS own_position)
      message(FATAL_ERROR "src/${folder} may not use src/${used}: a folder uses only folders before "
                          "it in KS_FOLDERS (CMakeLists.txt)")
    endif()
    target_link_libraries(ks_${folder} PUBLIC ks_${used})
  endforeach()
  target_link_libraries(ks_${folder} PUBLIC ${ARG_LINKS})
  string(REPLACE ";" " " uses "${ARG_USES}")  # a list would come apart in the property
  set_property(GLOBAL APPEND PROPERTY KS_USES_LINES "${folder}: ${uses}")
  if(ARG_TESTS AND BUILD_TESTING)
    ks_unit_test(ks_${folder}_test SOURCES ${ARG_TESTS} LINKS ks_${folder} ${ARG_TEST_LINKS})
  endif()
endfunction()

# ks_program_uses(folder ...): folders that a program of this folder uses beside what its library does.
function(ks_program_uses)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  string(REPLACE ";" " " uses "${ARGN}")
  set_property(GLOBAL APPEND PROPERTY KS_USES_LINES "${folder}: ${uses}")
endfunction()

include(GoogleTest)

# ks_unit_test(NAME SOURCES ... LINKS ...): one GoogleTest program, its cases known to CTest.
function(ks_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_executable(${name} ${ARG_SOURCES})
  ks_sanitize(${name} ${folder})
  ks_precompiled(${name} ${folder} ks_precompiled_test)
  target_link_libraries(${name} PRIVATE ks_flags ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  math(EXPR seconds "300 * ${KS_TIME_FACTOR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${seconds} LABELS ${folder})
endfunction()

# ks_fuzzer(NAME SOURCES ... LINKS ...): a libFuzzer program (clang only, built on request by
# `ninja fuzzers`).
if(NOT TARGET fuzzers)
  add_custom_target(fuzzers)
endif()
function(ks_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  ks_sanitize(${name} ${folder})
  target_link_libraries(${name} PRIVATE ks_flags ${ARG_LINKS} -fsanitize=fuzzer)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endfunction()
