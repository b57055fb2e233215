// Rank pages for users before pages for reviewers: guides by title, then the rest, then the proofs.
const FOR_REVIEWERS = /^(src\/|experiments\/|docs\/decisions\/|docs\/papers\/|docs\/(guarantees|reliability|known-gaps|add-a-selector)$|CONTRIBUTING$|SECURITY$|CHANGELOG$|README$)/;
const GENERATED = /^docs\/(reference\/|command-line$|options$|glossary$)/;

var Scorer = {
  score: ([page, , , , score]) =>
    score - (FOR_REVIEWERS.test(page) ? 1000 : GENERATED.test(page) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
