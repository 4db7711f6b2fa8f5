#pragma once
// Made-up sentences of two kinds, and which of their words are about which others.

#include <string>
#include <vector>

#include "tensor/generator.h"

namespace minigpt::lessons {

struct Sentence {
  std::vector<std::string> words;
  std::vector<std::string> answers;  // as many: which word this one is about, "" where nothing is asked
};

// "The cat sat on the mat because it was comfortable ." with other animals, places, reasons. Asked are: "it" and the last
// word (the animal or the place, whichever the reason is said of), and the full stop (who the sentence is about).
// seen: a pair of animal and place that training uses; otherwise one that it does not.
Sentence pronoun_sentence(Generator& rng, bool seen);
// "Mary had a little lamb whose fleece was white as snow ." with other names, animals, colours. Asked are: "whose" (the
// animal), the last word (what looks like that: the fleece) and the full stop (who had it).
Sentence snow_sentence(Generator& rng, bool seen);
// The two sentences themselves, whose pairs (cat, mat) and (Mary, lamb) training does not use; `reason` is the last word.
Sentence cat_sentence(const std::string& reason);
Sentence mary_sentence();

// As many of one kind as of the other.
std::vector<Sentence> draw_sentences(int count, bool seen, Generator& rng);

// Every word that occurs in them, some of them twice.
std::vector<std::string> all_words();

}  // namespace minigpt::lessons
