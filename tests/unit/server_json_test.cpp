// The strict JSON reader takes what is meant and refuses everything that two readers could take differently.
#include <gtest/gtest.h>

#include "server/json_reader.h"
#include "server/json_writer.h"

namespace sluice::server {
namespace {

std::optional<std::string> quantityFault(std::string_view text) {
  JsonField field("quantity", JsonKind::Integer);
  return readJsonObject(text, {&field, 1});
}

TEST(JsonReader, ReadsAWholeNumber) {
  JsonField field("quantity", JsonKind::Integer, true);
  EXPECT_FALSE(readJsonObject("{\"quantity\":1}", {&field, 1}));
  EXPECT_EQ(field.number, 1);
}

TEST(JsonReader, ReadsEveryKindWithBlanksBetween) {
  std::vector<JsonField> fields = {{"title", JsonKind::String},
                                   {"stock", JsonKind::Integer},
                                   {"open", JsonKind::Boolean},
                                   {"users", JsonKind::StringList}};
  const auto fault = readJsonObject(
      " {\t\"users\" : [ \"1\" , \"22\" ] ,\r\n\"open\":false, \"stock\":-5,\"title\":\"x\" } ", fields);
  ASSERT_FALSE(fault) << *fault;
  EXPECT_EQ(fields[0].text, "x");
  EXPECT_EQ(fields[1].number, -5);
  EXPECT_TRUE(fields[2].present);
  EXPECT_FALSE(fields[2].flag);
  EXPECT_EQ(fields[3].list, (std::vector<std::string>{"1", "22"}));
}

TEST(JsonReader, ReadsEscapesAndUtf8) {
  JsonField field("t", JsonKind::String);
  const auto fault = readJsonObject(R"({"t":"a\"\\\/\b\f\n\r\t\u00e9\u4e2d\ud83d\ude00é中😀"})", {&field, 1});
  ASSERT_FALSE(fault) << *fault;
  EXPECT_EQ(field.text, "a\"\\/\b\f\n\r\té中😀é中😀");
}

TEST(JsonReader, ReadsTheWholeRangeOf64Bits) {
  JsonField field("n", JsonKind::Integer);
  ASSERT_FALSE(readJsonObject(R"({"n":9223372036854775807})", {&field, 1}));
  EXPECT_EQ(field.number, std::numeric_limits<std::int64_t>::max());
  JsonField least("n", JsonKind::Integer);
  ASSERT_FALSE(readJsonObject(R"({"n":-9223372036854775808})", {&least, 1}));
  EXPECT_EQ(least.number, std::numeric_limits<std::int64_t>::min());
}

TEST(JsonReader, AnEmptyObjectHasNoMembers) {
  EXPECT_FALSE(quantityFault("{}"));
  EXPECT_FALSE(quantityFault("{ }"));
  EXPECT_FALSE(readJsonObject("{}", {}));
}

TEST(JsonReader, RefusesNumbersThatAreNotWhole) {
  for (const char* number : {"1.0",
                             "1.5",
                             "1e3",
                             "1E3",
                             "-0",
                             "01",
                             "-01",
                             "+1",
                             "0x1",
                             ".5",
                             "1.",
                             "-",
                             "NaN",
                             "Infinity",
                             "9223372036854775808",
                             "-9223372036854775809",
                             "99999999999999999999999999",
                             "true",
                             "null",
                             "\"1\"",
                             "[1]",
                             "{}",
                             "1,000",
                             "",
                             "１"}) {
    EXPECT_TRUE(quantityFault(std::string("{\"quantity\":") + number + "}")) << number;
  }
  EXPECT_TRUE(quantityFault("{\"quantity\":1" + std::string(400, '0') + "}"));
}

TEST(JsonReader, RefusesWhatIsNotOneObject) {
  for (const char* text : {"",
                           " ",
                           "[]",
                           "1",
                           "null",
                           "\"x\"",
                           "{",
                           "{\"quantity\"",
                           "{\"quantity\":",
                           "{\"quantity\":1",
                           "{\"quantity\":1,}",
                           "{,\"quantity\":1}",
                           "{\"quantity\":1}}",
                           "{\"quantity\":1} {}",
                           "{\"quantity\":1}x",
                           "{quantity:1}",
                           "{'quantity':1}",
                           "{\"quantity\":1 \"quantity\":1}",
                           "{\"quantity\" 1}",
                           "/**/{\"quantity\":1}",
                           "{\"quantity\":1}//x",
                           "\xEF\xBB\xBF{\"quantity\":1}",
                           "{\"quantity\":1;}"}) {
    EXPECT_TRUE(quantityFault(text)) << text;
  }
  EXPECT_TRUE(quantityFault(std::string("{\"quantity\":1}\0", 15)));
}

TEST(JsonReader, RefusesUnknownAndRepeatedMembers) {
  EXPECT_TRUE(quantityFault(R"({"quantity":1,"quantity":1})"));
  EXPECT_TRUE(quantityFault(R"({"quantity":1,"qu\u0061ntity":2})"));
  EXPECT_TRUE(quantityFault(R"({"Quantity":1})"));
  EXPECT_TRUE(quantityFault(R"({"quantity":1,"price":0})"));
  EXPECT_TRUE(quantityFault(R"({"":1})"));
}

TEST(JsonReader, RefusesDepthWithoutUsingTheStack) {
  EXPECT_TRUE(quantityFault(std::string(1000000, '[')));
  EXPECT_TRUE(quantityFault("{\"quantity\":" + std::string(1000000, '{')));
  JsonField list("users", JsonKind::StringList);
  EXPECT_TRUE(readJsonObject("{\"users\":[" + std::string(1000000, '[') + "]}", {&list, 1}));
}

TEST(JsonReader, RefusesBrokenText) {
  for (const std::string bytes : {"\xC0\xAF",
                                  "\xC1\xBF",
                                  "\xE0\x80\xAF",
                                  "\xED\xA0\x80",
                                  "\xF0\x80\x80\x80",
                                  "\xF4\x90\x80\x80",
                                  "\xF5\x80\x80\x80",
                                  "\xFF",
                                  "\x80",
                                  "\xC3",
                                  "\xE4\xB8",
                                  "\n",
                                  "\t",
                                  "\x01",
                                  "\x7F",
                                  "\\u0000",
                                  "\\ud800",
                                  "\\udc00",
                                  "\\ud800\\u0041",
                                  "\\ud800x",
                                  "\\u12",
                                  "\\u12g4",
                                  "\\u+123",
                                  "\\x41",
                                  "\\",
                                  "\\'"}) {
    JsonField field("t", JsonKind::String);
    EXPECT_TRUE(readJsonObject("{\"t\":\"" + bytes + "\"}", {&field, 1})) << bytes;
  }
  JsonField field("t", JsonKind::String);
  EXPECT_TRUE(readJsonObject(std::string("{\"t\":\"a\0b\"}", 11), {&field, 1}));
}

TEST(JsonReader, NamesWhatIsMissingOrOfTheWrongKind) {
  JsonField field("title", JsonKind::String, true);
  EXPECT_EQ(readJsonObject("{}", {&field, 1}), "title is missing");
  JsonField again("title", JsonKind::String, true);
  EXPECT_EQ(readJsonObject("{\"title\":1}", {&again, 1}), "title must be a string");
}

TEST(JsonReader, NeverRepeatsWhatTheClientSent) {
  const auto fault = quantityFault(R"({"<script>":1})");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->find("script"), std::string::npos);
}

TEST(JsonWriter, PutsCommasAndEscapes) {
  std::string text;
  JsonWriter json(text);
  json.beginObject()
      .member("a", std::string_view("q\"\\\n\x01<é"))
      .key("list")
      .beginList()
      .number(1)
      .number(-2)
      .endList();
  json.key("none")
      .null()
      .flag("yes", true)
      .key("id")
      .id(OrderId(7))
      .key("o")
      .beginObject()
      .endObject()
      .endObject();
  EXPECT_EQ(text,
            "{\"a\":\"q\\\"\\\\\\u000a\\u0001<é\",\"list\":[1,-2],\"none\":null,\"yes\":true,\"id\":\"7\","
            "\"o\":{}}");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  for (const std::string_view bytes : {"\xFF", "\xC0", "\xE4\xB8", "\xED\xA0\x80"}) {
    std::string text;
    JsonWriter(text).text(bytes);
    EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::server
