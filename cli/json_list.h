// A JSON list of what the server's views write, one element a line.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "server/views.h"

namespace sluice::cli {

template <typename T>
void printJsonList(const std::vector<T>& items, std::string (*toJson)(const T&)) {
  std::string text = "[";
  for (const T& item : items) {
    text += (text.size() == 1 ? "" : ",\n ") + toJson(item);
  }
  std::printf("%s]\n", text.c_str());
}

}  // namespace sluice::cli
