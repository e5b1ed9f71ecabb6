/* process_rule.h - a rule of a shared object as the engine sees it: ops like any other's, which ask a process.
 *
 * Each configured rule has a process of its own on each rank, so that it can harm no other. A state is there only while
 * its chunk is mapped; else the program holds its packed bytes. So a process that is lost takes nothing with it but the
 * state that it was working on: that one says from then on what happened, and how states are combined and packed is the
 * same on any number of ranks. */
#pragma once

#include <assay/rule.h>

/* Ops for rule number `number` of a module, whose texts and parameters are in `table` (rule/process_pack.h), without
 * functions, and which are the ops' from then on; `has` says which it has. Free with assay_process_rule_free(): those
 * that are registered live as long as the program, like `module`. ASSAY_ENOMEM. */
int assay_process_rule_new(const char *module, uint32_t number, const assay_rule_ops *table, unsigned has,
                           const assay_rule_ops **out, assay_error *err);
void assay_process_rule_free(const assay_rule_ops *ops);
