package stem

import "strings"

// irregular are forms that the rules of the stemmer do not cover. Each line begins with
// the word that its forms count as. Words that share a form count as one word: axes,
// leaves, lives.
var irregular = table(`
arise arose arisen
awake awoke awoken
beat beaten
become became
begin began begun
bend bent
bind bound
bite bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
die dying dies died
dig dug
draw drew drawn
drink drank drunk
drive drove driven
dwell dwelt
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fling flung
fly flew flown
forbid forbade forbidden
foresee foresaw foreseen
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go goes went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
leap leapt
learn learnt
leave left leaf leaves
lend lent
lie lying lies lied
light lit
live life lives
lose lost
make made
mean meant
meet met
mislead misled
mistake mistook mistaken
misunderstand misunderstood
outgrow outgrew outgrown
overcome overcame
override overrode overridden
overtake overtook overtaken
overwrite overwrote overwritten
pay paid
prove proven
rebuild rebuilt
redo redid redone
remake remade
rerun reran
resend resent
rethink rethought
rewind rewound
rewrite rewrote rewritten
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk sunken
sit sat
sleep slept
slide slid
sling slung
sow sown
speak spoke spoken
speed sped
spell spelt
spend spent
spill spilt
spin spun
spit spat
spoil spoilt
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
stink stank stunk
stride strode
strike struck stricken
string strung
strive strove striven
swear swore sworn
sweep swept
swell swollen
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tie tying ties tied
tread trod trodden
undergo underwent undergone
understand understood
undertake undertook undertaken
undo undid undone
uphold upheld
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
wind wound
withdraw withdrew withdrawn
withstand withstood
wring wrung
write wrote written

analyze analysis analyses analyse analysed analysing
appendix appendices
axis axes
bacterium bacteria
calf calves
child children
codex codices
cortex cortices
crisis crises
criterion criteria
curriculum curricula
datum data
diagnose diagnosis diagnoses
elf elves
ellipsis ellipses
erratum errata
foot feet
formula formulae
fungus fungi
goose geese
half halves halve halved halving
hoof hooves
hypothesis hypotheses
index indices indexes
knife knives
larva larvae
loaf loaves
locus loci
louse lice
man men
matrix matrices
medium media
memorandum memoranda
mouse mice
nucleus nuclei
oasis oases
ox oxen
parenthesis parentheses
person people
phenomenon phenomena
quantum quanta
query queries
radius radii
scarf scarves
schema schemata
self selves
shelf shelves
stimulus stimuli
synopsis synopses
synthesis syntheses
thesis theses
thief thieves
tooth teeth
vertex vertices
vortex vortices
wife wives
wolf wolves
woman women

angry angrily angrier
arbitrary arbitrarily
big bigger biggest
bright brighter brightest
busy busily busier
cheap cheaper cheapest
clear clearer clearest
cold colder coldest
deep deeper deepest
dirty dirtier
early earlier earliest
easy easily easier easiest
fast faster fastest
great greater greatest
happy happily happier
hard harder hardest
heavy heavily heavier heaviest
high higher highest
hot hotter hottest
large larger largest
long longer longest
lucky luckily
momentary momentarily
near nearer nearest
necessary necessarily
new newer newest
old older oldest
ordinary ordinarily
primary primarily
quick quicker quickest
ready readily
safe safer safest
satisfactory satisfactorily
short shorter shortest
simple simpler simplest
slow slower slowest
small smaller smallest
steady steadily
strong stronger strongest
temporary temporarily
tiny tinier tiniest
voluntary voluntarily
warm warmer warmest
wide wider widest
worse worst

lock deadlock
`)

// table maps all words of a line to its first.
func table(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 {
				m[w] = words[0]
			}
		}
	}
	return m
}
