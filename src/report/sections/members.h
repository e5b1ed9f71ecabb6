/* members.h - the result of an aggregation as blocks, from its members in report.json. */
#pragma once

#include "base/json.h"
#include "report/document/document.h"

/* Adds the result to the open container. False, and nothing is added, where it has none of the forms that are known. */
bool sections_put_members(const cJSON *members, doc *d);
