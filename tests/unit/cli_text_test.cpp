// What the command line prints and reads: tables, counts, instants.
#include <gtest/gtest.h>

#include "cli/text.h"

namespace sluice::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr UtcTime kNow = fromMillis(1767225600000);  // 2026-01-01T00:00:00Z

TEST(Table, PadsColumnsAndSetsNumbersToTheRight) {
  Table table({"NAME", "PIECES", "NOTE"});
  table.add({"a", "1,000", "x"});
  table.add({"höher", "5", ""});
  EXPECT_EQ(table.text(),
            "NAME   PIECES  NOTE\n"
            "a       1,000  x\n"
            "höher       5\n");
}

TEST(Table, IsEmptyWithoutRows) { EXPECT_TRUE(Table({"A"}).empty()); }

TEST(CountText, GroupsThousands) {
  EXPECT_EQ(countText(0), "0");
  EXPECT_EQ(countText(999), "999");
  EXPECT_EQ(countText(1000), "1,000");
  EXPECT_EQ(countText(-1234567), "-1,234,567");
}

TEST(Instant, IsReadAbsoluteAndRelative) {
  EXPECT_EQ(parseInstant("2026-01-01T00:00:00Z", fromMillis(0)).value(), kNow);
  EXPECT_EQ(parseInstant("2026-01-01T00:00:00.250Z", fromMillis(0)).value(), kNow + milliseconds(250));
  EXPECT_EQ(parseInstant("now", kNow).value(), kNow);
  EXPECT_EQ(parseInstant("+10m", kNow).value(), kNow + minutes(10));
  EXPECT_EQ(parseInstant("-1h", kNow).value(), kNow - hours(1));
  EXPECT_EQ(parseInstant("+3d", kNow).value(), kNow + hours(72));
}

TEST(Instant, IsRefusedWithWhatIsRight) {
  for (const char* text : {"", "tomorrow", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                           "2026-01-01T24:00:00Z", "2026-01-01T00:00:00+01:00", "2026-01-01 00:00:00Z", "+",
                           "+10", "+m", "++1m", "+-1m", "+1w", "10m", "+99999999999999999999s"}) {
    const Result<UtcTime> instant = parseInstant(text, kNow);
    ASSERT_FALSE(instant) << text;
    EXPECT_NE(instant.error().text.find("2026-11-11T00:00:00Z"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::cli
