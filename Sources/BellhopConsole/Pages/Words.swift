enum Language: String, Sendable, CaseIterable {
    case english = "en"
    case german = "de"

    /// The language of the browser's cookie, or else the first known one of its preferences (RFC 9110, section 12.5.4).
    init(_ request: ConsoleRequest) {
        if let chosen = request.cookie("bellhop_language").flatMap(Language.init) {
            self = chosen
            return
        }
        let asked = (request.header("accept-language") ?? "").split(separator: ",").map { entry in
            let parts = entry.split(separator: ";")
            let weight = parts.dropFirst().compactMap {
                $0.drop { $0 == " " }.hasPrefix("q=") ? Double($0.drop { $0 != "=" }.dropFirst()) : nil
            }
            return (parts.first.map { String($0.drop { $0 == " " }.prefix(2)).lowercased() } ?? "", weight.first ?? 1)
        }
        let best = asked.filter { Language(rawValue: $0.0) != nil && $0.1 > 0 }.max { $0.1 < $1.1 }
        self = best.flatMap { Language(rawValue: $0.0) } ?? .english
    }
}

/// Translates the words of pages, and the agent's fixed words, such as states and verdicts. Other text of the agent (errors, conditions,
/// names) is not translated.
struct Words: Sendable {
    let language: Language

    func callAsFunction(_ english: String) -> String {
        language == .english ? english : Self.german[english] ?? english
    }

    /// A sentence of the agent, and the sentences that it quotes. One that is not in the tables stays in English.
    func sentence(_ english: String) -> String {
        if language == .english { return english }
        // `lazy.compactMap { … }.first` translates what it finds twice, so twice as often at each level of quoted sentences.
        for candidate in [Self.germanSentences, Self.germanReasons, Self.germanEdits].joined() {
            if let translated = candidate.translation(of: english, values: sentence) { return translated }
        }
        for candidate in Self.germanGaps {
            if let translated = candidate.translation(of: english, values: valueOfGap) { return translated }
        }
        return english
    }

    /// A value in a sentence about a back-test, which may be a span of time. Elsewhere, such words are a person's own.
    private func valueOfGap(_ english: String) -> String {
        Self.germanSpans.lazy.compactMap { span in span.translation(of: english) { $0 } }.first ?? sentence(english)
    }

    static let german: [String: String] = [
        "Overview": "Übersicht", "Events": "Ereignisse", "Tasks": "Aufgaben", "Rules": "Regeln", "Deliveries": "Zustellungen",
        "Waiting": "Wartendes", "Silences": "Stummschaltungen", "Receivers": "Empfänger", "Audit": "Prüfprotokoll",
        "Log in": "Anmelden", "Log in with your account": "Mit dem eigenen Konto anmelden", "Log out": "Abmelden",
        "Token": "Token", "Skip to the content": "Zum Inhalt springen", "Pages": "Seiten", "Needs a person": "Eingriff nötig",
        "Nothing needs a person.": "Kein Eingriff nötig.", "Sources": "Quellen", "Source": "Quelle", "State": "Zustand",
        "Last poll": "Letzte Abfrage", "Error": "Fehler", "Past error": "Früherer Fehler", "Kind": "Art",
        "Events per hour": "Ereignisse je Stunde",
        "Deliveries per hour": "Zustellungen je Stunde", "in the last 24 hours": "in den letzten 24 Stunden", "Time": "Zeit",
        "Type": "Typ", "Summary": "Zusammenfassung", "Task": "Aufgabe", "Title": "Titel", "Rule": "Regel",
        "Receiver": "Empfänger", "Action": "Aktion", "Attempts": "Versuche", "Since": "Seit", "Search": "Suchen",
        "Condition": "Bedingung", "Older": "Ältere", "None.": "Keine.",
        "Left out, because the condition failed:": "Ausgelassen wegen eines Fehlers in der Bedingung:",
        "Retry": "Wiederholen",
        "Drop": "Verwerfen", "Edit": "Bearbeiten", "Save": "Speichern", "Pause": "Anhalten", "Resume": "Fortsetzen",
        "Reason": "Grund", "Mode": "Modus", "Runs": "Läufe", "Errors": "Fehler", "Last run": "Letzter Lauf", "Next": "Nächster",
        "paused": "angehalten", "File": "Datei", "Text": "Text", "Created": "Erstellt", "Finished": "Beendet",
        "Next attempt": "Nächster Versuch", "Receipt": "Beleg", "What is sent": "Was gesendet wird", "Starts": "Beginn",
        "Ends": "Ende", "By": "Von", "Kept back": "Zurückgehalten", "Begin a silence": "Stummschaltung beginnen",
        "For how long": "Wie lange", "End": "Beenden", "active": "aktiv",
        "Only messages for which this condition is true": "Nur Nachrichten, für die diese Bedingung gilt",
        "Only this rule": "Nur diese Regel",
        "every message": "jede Nachricht", "every message and write": "jede Nachricht und jedes Schreiben",
        "also writes": "auch Schreiben",
        "Only this receiver": "Nur dieser Empfänger", "all": "alle", "Waits for a person": "Wartet auf Eingriff",
        "Works": "Funktioniert", "Due": "Fällig", "About": "Betrifft", "Act": "Handlung", "Person": "Person", "Number": "Nummer",
        "Changes": "Änderungen", "Led to": "Führte zu", "Caused by": "Verursacht durch", "Why": "Warum",
        "No event about it is stored.": "Es ist kein Ereignis dazu gespeichert.", "live": "live", "Watch live": "Live mitlesen",
        "Stop watching": "Nicht mehr mitlesen", "Details": "Einzelheiten", "Choose": "Auswählen",
        "Silence such messages": "Solche Nachrichten stummschalten",
        "Before": "Vorher", "After": "Nachher", "Field": "Feld", "What is wrong": "Was nicht stimmt",
        "new": "neu", "preparing": "bereitet vor", "polling": "fragt ab", "fine": "in Ordnung", "failing": "fehlerhaft",
        "held": "zurückgehalten",
        "available": "bereit", "waiting": "wartend", "running": "läuft", "done": "erledigt", "dead": "aufgegeben",
        "shadow": "im Schatten",
        "sent": "gesendet", "empty": "leer", "released": "später gesendet",
        "silenced": "stumm", "quiet": "in Ruhezeit", "dropped": "verworfen", "joined": "zusammengefasst",
        "ran when replayed": "lief bei der Wiederholung", "gone": "nicht mehr aufbewahrt", "off": "aus", "canary": "Probelauf",
        "Log in with a token. `bellhop console token add NAME` makes one.":
            "Melden Sie sich mit einem Token an. `bellhop console token add NAME` erzeugt eines.",
        "Schedule": "Zeitplan", "Description": "Beschreibung", "Problem": "Problem", "under way": "unterwegs",
        "not sent": "nicht gesendet",
        "Calendar": "Kalender", "What": "Was", "Often": "Häufig", "Last": "Zuletzt", "Next page": "Nächste Seite",
        "Quiet: messages wait": "Ruhezeit: Nachrichten warten", "Quiet: messages are dropped": "Ruhezeit: Nachrichten entfallen",
        "No schedule and no quiet time in the next days.": "Kein Zeitplan und keine Ruhezeit in den nächsten Tagen.",
        "Schedules of rules and quiet times of the next seven days.":
            "Zeitpläne von Regeln und Ruhezeiten der nächsten sieben Tage.",
        "Copy as a test": "Als Test kopieren", "Download": "Herunterladen",
        "This test expects that the same events lead to the same actions. Save it as a `.test.yaml` file beside the rules:":
            "Dieser Test erwartet, dass dieselben Ereignisse zu denselben Aktionen führen. Speichern Sie ihn als `.test.yaml`-Datei neben den Regeln:",
        "The test does not pass yet, because a relevant fact is missing from it:":
            "Der Test gelingt noch nicht, weil eine wichtige Angabe darin fehlt:",
        "Stopped or waited in the last day": "Am letzten Tag gestoppt oder gewartet",
        "What would it keep back?": "Was würde sie zurückhalten?",
        "What it would have kept back in the last 7 days": "Was sie in den letzten 7 Tagen zurückgehalten hätte",
        "Not evaluated, because their event is not stored": "Nicht bewertet, weil ihr Ereignis nicht gespeichert ist",
        "Back-test": "Rückblick-Test", "Back-tests": "Rückblick-Tests", "Begin a back-test": "Rückblick-Test beginnen",
        "Back-test since": "Rückblick-Test seit", "All rules": "Alle Regeln", "Progress": "Fortschritt", "Begin": "Beginn",
        "Forget": "Vergessen", "failed": "fehlgeschlagen", "ended": "beendet", "passed": "bestanden",
        "What rules would have done with the stored events. Nothing is sent.":
            "Was Regeln mit den gespeicherten Ereignissen getan hätten. Gesendet wird nichts.",
        "What the rules would have done": "Was die Regeln getan hätten", "Stopped or waited": "Gestoppt oder gewartet",
        "Limits of this result": "Grenzen dieses Ergebnisses", "Difference": "Unterschied", "Would be added": "Käme hinzu",
        "Would be removed": "Fiele weg", "Would be changed": "Wäre anders", "The same in both": "In beiden gleich",
        "Coverage": "Abdeckung", "Coverage of the last day": "Abdeckung des letzten Tages",
        "Delivery": "Zustellung", "New rule": "Neue Regel", "Name": "Name",
        "As of": "Stand", "Paused and silenced": "Angehalten und stummgeschaltet",
        "Choose all of this page": "Alle dieser Seite auswählen",
        "Drop these deliveries? They are never sent then.": "Diese Zustellungen verwerfen? Sie werden dann nie gesendet.",
        "Choose at least one delivery.": "Wählen Sie mindestens eine Zustellung aus.",
        "Not changed, because their state does not allow it": "Nicht geändert, weil ihr Zustand es nicht zulässt",
        "is saved. The agent reads it now.": "ist gespeichert. Der Agent liest sie jetzt.",
        "Rules are read from": "Regeln werden gelesen aus",
        "Coverage by recent events": "Abdeckung durch die letzten Ereignisse", "since": "seit",
        "Shadow": "Schatten", "Live": "Live",
        "Workbench": "Werkbank", "Check": "Prüfen", "Test": "Testen", "The rules are valid.": "Die Regeln sind gültig.",
        "There are no tests beside this file.": "Neben dieser Datei stehen keine Tests.",
        "The whole file to commit": "Die ganze Datei zum Einchecken",
        "Earlier events": "Frühere Ereignisse", "What you entered": "Was Sie eingegeben haben",
        "Copy it before you leave this page.": "Kopieren Sie es, bevor Sie diese Seite verlassen.",
        "The stream has ended. Load this page again.": "Das Mitlesen ist beendet. Laden Sie diese Seite neu.",
        "Commit the file yourself.": "Checken Sie die Datei selbst ein.",
        // Why rules ran or did not.
        "ran": "gelaufen", "type": "anderer Typ", "source": "andere Quelle", "field": "anderes Feld",
        "condition_false": "Bedingung nicht erfüllt", "condition_unknown": "Bedingung nicht entscheidbar",
        "condition_failed": "Fehler in der Bedingung", "key_failed": "Fehler im Schlüssel", "step_failed": "Fehler im Schritt",
        "loop": "Schleife", "cancelled": "abgebrochen", "not_true_when_due": "bei Fälligkeit nicht erfüllt",
        "counting": "wird gezählt", "gathering": "wird gesammelt", "throttled": "gedrosselt", "once": "schon gelaufen",
        "expired": "abgelaufen", "no_step": "ohne Schritt", "used_up": "verbraucht", "ended_early": "vorzeitig beendet",
        "escalating": "eskaliert", "answered": "beantwortet", "budget": "Budget erschöpft",
        "unrouted": "noch nicht von Regeln gesehen", "unseen": "nicht gesehen", "unknown": "nicht bekannt",
        "Pause all writes": "Alles Schreiben anhalten", "Resume writes": "Schreiben fortsetzen",
        "Writes to tasks are paused.": "Schreiben in Aufgaben ist angehalten.",
        // The audit's acts, and the outcomes of attempts.
        "retry": "neuer Versuch", "drop": "verworfen", "edit": "bearbeitet", "pause": "angehalten", "resume": "fortgesetzt",
        "forget": "vergessen", "replay": "erneut durch die Regeln", "reload": "Regeln neu geladen", "prune": "gekürzt",
        "silence add": "Stummschaltung begonnen", "silence end": "Stummschaltung beendet",
        "console token add": "Token ausgestellt", "console token remove": "Token entfernt", "edit rules": "Regeln geändert",
        "add rules": "Regeln angelegt", "attempt": "Versuch", "Rate": "Durchsatz", "no limit": "ohne Grenze",
        "Backlog": "Rückstand", "rests": "ruht", "begins": "beginnt", "until": "bis",
        "postponed": "verschoben", "interrupted": "unterbrochen",
        "Step": "Schritt", "To": "An", "Attempt": "Versuch", "Outcome": "Ergebnis", "Detail": "Einzelheit",
        "Silence": "Stummschaltung", "Role": "Rolle", "Cause": "Ursache", "Subject": "Gegenstand", "Through": "Bis",
        "Hash": "Prüfsumme", "Event": "Ereignis", "Force": "Erzwungen", "Writes": "Schreiben", "Added": "Neu",
        "Changed": "Geändert", "Anew": "Anders entscheidend", "Removed": "Entfernt", "Routed": "Gesehen bis", "yes": "ja",
        // The kinds of waits.
        "for": "Frist", "count": "Anzahl", "group": "Sammlung", "on": "weitere Ereignisse", "none": "Ausbleiben",
        "escalate": "Eskalation", "schedule": "Zeitplan", "existing": "Bestand",
    ]
}
