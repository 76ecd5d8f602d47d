// Pages that are one file: no scripts, no fonts, nothing from elsewhere; light and dark as the
// reader's system is.
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// Text as HTML shows it: names and messages come from candidates.
std::string EscapeHtml(std::string_view foreign);

// A whole page; `body` is HTML.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace kernelsmith
