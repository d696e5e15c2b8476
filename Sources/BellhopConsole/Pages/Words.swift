/// The language of a page.
enum Language: String, Sendable, CaseIterable {
    case english = "en"
    case german = "de"

    /// From the browser's cookie, or else from its languages in the order of its preference (RFC 9110, section 12.5.4).
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

/// Translates the words of pages. What comes from the agent (errors, conditions, names) is shown as it is.
struct Words: Sendable {
    let language: Language

    func callAsFunction(_ english: String) -> String {
        language == .english ? english : Self.german[english] ?? english
    }

    static let german: [String: String] = [
        "Overview": "Übersicht", "Events": "Ereignisse", "Tasks": "Aufgaben", "Rules": "Regeln", "Deliveries": "Zustellungen",
        "Waiting": "Wartendes", "Silences": "Stummschaltungen", "Receivers": "Empfänger", "Audit": "Prüfprotokoll",
        "Log in": "Anmelden", "Log in with your account": "Mit dem eigenen Konto anmelden", "Log out": "Abmelden",
        "Token": "Token", "Skip to the content": "Zum Inhalt springen",
        "Pages": "Seiten", "Needs a person": "Braucht einen Menschen",
        "Nothing needs a person.": "Nichts braucht einen Menschen.",
        "Sources": "Quellen", "Source": "Quelle", "State": "Zustand", "Last poll": "Letzte Abfrage", "Error": "Fehler",
        "Kind": "Art",
        "Events per hour": "Ereignisse je Stunde", "Deliveries per hour": "Zustellungen je Stunde",
        "in the last 24 hours": "in den letzten 24 Stunden", "Time": "Zeit", "Type": "Typ", "Summary": "Zusammenfassung",
        "Task": "Aufgabe", "Title": "Titel", "Rule": "Regel", "Receiver": "Empfänger", "Action": "Aktion", "Attempts": "Versuche",
        "Since": "Seit", "Search": "Suchen", "Condition": "Bedingung", "Older": "Ältere", "Newest": "Neueste", "None.": "Keine.",
        "Retry": "Wiederholen",
        "Drop": "Verwerfen", "Edit": "Bearbeiten", "Save": "Speichern", "Pause": "Anhalten", "Resume": "Fortsetzen",
        "Reason": "Grund", "Mode": "Modus", "Runs": "Läufe", "Errors": "Fehler", "Last run": "Letzter Lauf", "Next": "Nächster",
        "paused": "angehalten", "File": "Datei", "Text": "Text", "Created": "Erstellt", "Finished": "Beendet",
        "Next attempt": "Nächster Versuch",
        "Receipt": "Beleg", "What is sent": "Was gesendet wird", "Starts": "Beginn", "Ends": "Ende", "By": "Von",
        "Kept back": "Zurückgehalten",
        "Begin a silence": "Stummschaltung beginnen", "For how long": "Wie lange", "End": "Beenden", "active": "aktiv",
        "Only messages for which this holds": "Nur Nachrichten, für die dies gilt", "Only this rule": "Nur diese Regel",
        "Only this receiver": "Nur dieser Empfänger", "all": "alle", "Waits for a person": "Wartet auf einen Menschen",
        "Works": "Arbeitet", "Due": "Fällig", "About": "Worüber", "Act": "Handlung", "Person": "Person", "Number": "Nummer",
        "What happened": "Was geschah", "Changes": "Änderungen", "Led to": "Führte zu", "Caused by": "Verursacht durch",
        "Why": "Warum",
        "No event is kept about it.": "Es ist kein Ereignis darüber aufbewahrt.", "live": "live", "Watch live": "Live mitlesen",
        "Stop watching": "Nicht mehr mitlesen", "Language": "Sprache", "Time zone": "Zeitzone", "Details": "Einzelheiten",
        "Everything about this task": "Alles über diese Aufgabe", "Silence such messages": "Solche Nachrichten stummschalten",
        "Really?": "Wirklich?", "Yes": "Ja", "Back": "Zurück", "of these": "davon", "Choose": "Auswählen", "Before": "Vorher",
        "After": "Nachher",
        "Field": "Feld", "Comment": "Kommentar", "What is wrong": "Was nicht stimmt", "Changed.": "Geändert.",
        "new": "neu", "preparing": "bereitet vor", "polling": "fragt ab", "fine": "in Ordnung", "failing": "fehlerhaft",
        "held": "zurückgehalten",
        "available": "bereit", "waiting": "wartend", "running": "läuft", "done": "erledigt", "dead": "aufgegeben",
        "shadow": "im Schatten",
        "silenced": "stumm", "quiet": "in Ruhezeit", "dropped": "verworfen", "off": "aus", "canary": "Probelauf",
        "Log in with a token. `bellhop console token` makes one.":
            "Melden Sie sich mit einem Token an. `bellhop console token` erzeugt eines.",
        "This needs JavaScript; the page shows what there is when it is loaded.":
            "Dies braucht JavaScript; die Seite zeigt, was beim Laden da ist.",
        "Schedule": "Zeitplan", "Description": "Beschreibung", "Problem": "Problem", "No events.": "Keine Ereignisse.",
        "Pause all writes": "Alles Schreiben anhalten", "Resume writes": "Schreiben fortsetzen",
        "Writes to tasks are paused.": "Schreiben in Aufgaben ist angehalten.",
    ]
}
