# SPDX-License-Identifier: Apache-2.0
# Script mode: writes OUTPUT, a C++ file that holds the bytes of FILES ('|' between them, below ROOT).
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(table "")
set(index 0)
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND arrays "constexpr char kFile${index}[] = {${bytes}'\\0'};\n")
  string(APPEND table "    {\"${file}\", {kFile${index}, sizeof(kFile${index}) - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"app/embedded_configs.h\"

namespace gpubench {
namespace {
${arrays}}  // namespace

const std::vector<EmbeddedConfig>& embedded_configs() {
  static const std::vector<EmbeddedConfig> configs = {
${table}  };
  return configs;
}

}  // namespace gpubench
")
