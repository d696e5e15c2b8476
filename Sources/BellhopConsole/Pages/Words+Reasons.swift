import BellhopCore

extension Words {
    /// Why a delivery cannot be edited.
    static let germanEdits: [TranslatedSentence] = DeliveryState.allCases.map { state in
        TranslatedSentence(
            "Delivery % is \(state.rawValue): only a dead or held one can be edited. Nothing was changed.",
            "Der Zustand der Zustellung % ist „\(Words.german[state.rawValue] ?? state.rawValue)“: Nur eine aufgegebene oder zurückgehaltene lässt sich bearbeiten. Nichts wurde geändert."
        )
    }

    /// Why something is paused, and why an escalation has ended.
    static let germanReasons: [TranslatedSentence] = [
        .init("paused by hand", "von Hand angehalten"),
        .init("paused in bellhop top", "in `bellhop top` angehalten"),
        .init("no reason is known.", "kein Grund ist bekannt."),
        .init(
            "it has % keys of `once`, and may remember %: `retention: {keys: …}` in bellhop.yaml.",
            "sie hat % Schlüssel von `once` und darf sich % merken: `retention: {keys: …}` in bellhop.yaml."),
        .init(
            "it has % escalations, and may remember %: `retention: {keys: …}` in bellhop.yaml.",
            "sie hat % Eskalationen und darf sich % merken: `retention: {keys: …}` in bellhop.yaml."),
        .init("the escalation has ended", "die Eskalation ist beendet"),
        .init("the escalation has ended: %", "die Eskalation ist beendet: %"),
        .init("the next step of the escalation waits until %", "der nächste Schritt der Eskalation wartet bis %"),
        .init("event % answered the task at %", "Ereignis % beantwortete die Aufgabe um %"),
        .init("its last step came at %", "ihr letzter Schritt kam um %"),
        .init("the task has left", "die Aufgabe ist nicht mehr da"),
        .init("`until` holds", "`until` ist erfüllt"),
        .init("`when` does not hold any more", "`when` ist nicht mehr erfüllt"),
        .init("the rule was changed at %", "die Regel wurde um % geändert"),
        .init("the rule was removed at %", "die Regel wurde um % entfernt"),
        .init("the rule was turned off at %", "die Regel wurde um % ausgeschaltet"),
        .init("`bellhop forget` forgot the task at %", "`bellhop forget` vergaß die Aufgabe um %"),
    ]

    /// The spans of time in sentences about a back-test.
    static let germanSpans: [TranslatedSentence] = [
        .init("from % until the end", "von % bis zum Ende"), .init("from % until %", "von % bis %"), .init("until %", "bis %"),
    ]

    /// What limits the result of a back-test.
    static let germanGaps: [TranslatedSentence] = [
        .init(
            "The store has no events yet, so the rules have nothing to do: `bellhop run` stores events.",
            "Im Speicher sind noch keine Ereignisse, also haben die Regeln nichts zu tun: `bellhop run` speichert Ereignisse."),
        .init(
            "The store has no events before %, so no earlier times of schedules are counted.",
            "Im Speicher sind keine Ereignisse vor %, deshalb zählen keine früheren Zeiten von Zeitplänen."),
        .init("The store has no events before %.", "Im Speicher sind keine Ereignisse vor %."),
        .init(
            "Events before % were deleted (`retention.events`), so the back-test begins there.",
            "Die Ereignisse vor % wurden gelöscht (`retention.events`), deshalb beginnt der Rückblick-Test dort."),
        .init(
            "Events of the source %, which bellhop.yaml no longer has: %. Rules with `from` do not see them, and waits for its tasks end.",
            "Ereignisse der Quelle %, die nicht mehr in bellhop.yaml steht: %. Regeln mit `from` sehen sie nicht, und das Warten auf ihre Aufgaben endet."
        ),
        .init("Events that cannot be read: %.", "Ereignisse, die nicht lesbar sind: %."),
        .init(
            "Events that are left out, because the clock was ahead when they were stored: %.",
            "Ereignisse, die fehlen, weil die Uhr vorging, als sie gespeichert wurden: %."),
        .init(
            "The store has no event of %, so the back-test does not show its silence.",
            "Im Speicher ist kein Ereignis von %, deshalb zeigt der Rückblick-Test das Ausbleiben nicht."),
        .init(
            "The source % could not be read %: changes in this time were seen later or never.",
            "Die Quelle % war nicht lesbar, %: Änderungen in dieser Zeit wurden später oder nie gesehen."),
        .init(
            "The rule % was paused % and saw no events; here it sees them.",
            "Die Regel % war angehalten, %, und sah keine Ereignisse; hier sieht sie sie."),
        .init(
            "The receiver % was paused %, and its deliveries waited; here they do not.",
            "Der Empfänger % war angehalten, %, und seine Zustellungen warteten; hier warten sie nicht."),
        .init(
            "Writes to tasks were paused %, and waited; here they do not.",
            "Schreiben in Aufgaben war angehalten, %, und wartete; hier wartet es nicht."),
        .init("There are % more such times.", "Es gibt % weitere solche Zeiten."),
        .init("There is one more such time.", "Es gibt eine weitere solche Zeit."),
        .init("Among the rules compared with: %", "Bei den Regeln, mit denen verglichen wird: %"),
        .init(
            "The rule % drops 1 key, because it may remember %: give it fewer keys (`by`), or raise `retention.keys`.",
            "Die Regel % verwirft 1 Schlüssel, weil sie sich % merken darf: Geben Sie ihr weniger Schlüssel (`by`), oder erhöhen Sie `retention.keys`."
        ),
        .init(
            "The rule % drops % keys, because it may remember %: give it fewer keys (`by`), or raise `retention.keys`.",
            "Die Regel % verwirft % Schlüssel, weil sie sich % merken darf: Geben Sie ihr weniger Schlüssel (`by`), oder erhöhen Sie `retention.keys`."
        ),
        .init(
            "The rule % is paused at % and sees no more events, because it has more keys of `once`, or more escalations, than the % that it may remember: give it fewer keys, or raise `retention.keys`.",
            "Die Regel % wird um % angehalten und sieht keine Ereignisse mehr, weil sie mehr Schlüssel von `once` oder mehr Eskalationen hat als die %, die sie sich merken darf: Geben Sie ihr weniger Schlüssel, oder erhöhen Sie `retention.keys`."
        ),
        .init(
            "These rules were added or changed in this time, but the back-test uses one version throughout: %.",
            "Diese Regeln wurden in dieser Zeit hinzugefügt oder geändert, der Rückblick-Test verwendet aber durchweg eine Fassung: %."
        ),
        .init(
            "`bellhop forget` made the rules forget tasks in this time, but here they remember them: %.",
            "`bellhop forget` ließ die Regeln in dieser Zeit Aufgaben vergessen, hier merken sie sie sich: %."),
        .init(
            "What rules waited for, counted, gathered or remembered at the start is not known and begins empty: %.",
            "Worauf Regeln am Anfang warteten und was sie gezählt, gesammelt oder sich gemerkt hatten, ist nicht bekannt und beginnt leer: %."
        ),
        .init(
            "Tasks that no event of this time shows are taken as they are now: % reads the tasks of sources.",
            "Aufgaben, die kein Ereignis dieser Zeit zeigt, gelten so, wie sie jetzt sind: % liest die Aufgaben von Quellen."),
        .init(
            "Tasks that no event of this time shows are taken as they are now: % read the tasks of sources.",
            "Aufgaben, die kein Ereignis dieser Zeit zeigt, gelten so, wie sie jetzt sind: % lesen die Aufgaben von Quellen."),
        .init(
            "The back-test does not include times when no agent ran, failed deliveries, messages that `coalesce` joins, or reactions of people to its deliveries.",
            "Der Rückblick-Test berücksichtigt nicht, wann kein Agent lief, welche Zustellungen scheiterten, welche Nachrichten `coalesce` zusammenfasst und wie Menschen auf sie reagierten."
        ),
    ]
}
