/// A sentence in two languages; each `%` stands for a value, in the same order in both.
struct TranslatedSentence: Sendable {
    private let english: [String]
    private let german: [String]

    init(_ english: String, _ german: String) {
        (self.english, self.german) = (Self.parts(of: english), Self.parts(of: german))
        precondition(self.english.count == self.german.count, "the translation of `\(english)` has the same values")
    }

    private static func parts(of text: String) -> [String] {
        text.split(separator: "%", omittingEmptySubsequences: false).map(String.init)
    }

    /// The German sentence with the values of the English one; nil if the sentence does not match.
    ///
    /// - Parameter translate: translates a value, which may be a sentence itself.
    func translation(of sentence: String, values translate: (String) -> String) -> String? {
        guard let head = english.first, sentence.hasPrefix(head) else { return nil }
        var rest = sentence.dropFirst(head.count)
        var values: [String] = []
        for place in english.indices.dropFirst() {
            let part = english[place]
            let isLast = place == english.count - 1
            let end: Range<Substring.Index>?
            if part.isEmpty {
                end = isLast ? rest.endIndex..<rest.endIndex : nil
            } else if isLast {
                end = rest.hasSuffix(part) ? rest.index(rest.endIndex, offsetBy: -part.count)..<rest.endIndex : nil
            } else {
                end = rest.firstRange(of: part)
            }
            guard let end else { return nil }
            values.append(String(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        // The values are translated last: each may match many sentences whose end then does not.
        guard rest.isEmpty else { return nil }
        return zip(values, german.dropFirst()).reduce(german[0]) { $0 + translate($1.0) + $1.1 }
    }
}

extension Words {
    /// The agent's sentences on pages: what needs a person, and why something was refused.
    static let germanSentences: [TranslatedSentence] = [
        // What needs a person.
        .init("No agent is running.", "Es läuft kein Agent."),
        .init(
            "The changed rules have errors, and the old ones are in force: `bellhop check` says which.",
            "Die geänderten Regeln haben Fehler, und die alten gelten: `bellhop check` nennt sie."),
        .init("The mode of this rule can only be changed by hand.", "Der Modus dieser Regel lässt sich nur von Hand ändern."),
        .init(
            "The changed configuration has mistakes, and the agent cannot start with it: `bellhop check` says which.",
            "Die geänderte Konfiguration hat Fehler, und der Agent kann mit ihr nicht starten: `bellhop check` nennt sie."),
        .init(
            "The configuration is missing or cannot be read, and the agent cannot start without it: `bellhop check` says why.",
            "Die Konfiguration fehlt oder ist nicht lesbar, und der Agent kann ohne sie nicht starten: `bellhop check` nennt den Grund."
        ),
        .init(
            "The condition of the silence % has a mistake, so it keeps nothing back: %",
            "Die Bedingung der Stummschaltung % hat einen Fehler, daher hält sie nichts zurück: %"),
        .init(
            "The configuration changed, and the agent must be restarted to use it.",
            "Die Konfiguration wurde geändert; der Agent muss neu gestartet werden, um sie zu verwenden."),
        .init(
            "The loop % has made no progress for minutes: restart the agent.",
            "Die Schleife % kommt seit Minuten nicht voran: Starten Sie den Agenten neu."),
        .init("The source % is failing: %", "Die Quelle % ist gestört: %"),
        .init(
            "The rule % is paused: % Repair it, then `bellhop resume %`.",
            "Die Regel % ist angehalten: % Beheben Sie es, dann `bellhop resume %`."),
        .init(
            "The receiver % is paused: % Repair it, then `bellhop resume %`.",
            "Der Empfänger % ist angehalten: % Beheben Sie es, dann `bellhop resume %`."),
        .init(
            "The connection % cannot be used, and its deliveries wait: %",
            "Die Verbindung % ist nicht nutzbar, und ihre Zustellungen warten: %"),
        .init(
            "A delivery to % keeps failing: % It is tried next at %.",
            "Eine Zustellung an % schlägt immer wieder fehl: % Nächster Versuch: %."),
        .init("A delivery to % keeps failing: %", "Eine Zustellung an % schlägt immer wieder fehl: %"),
        .init("The rule % failed when it last ran: %", "Die Regel % hatte beim letzten Lauf einen Fehler: %"),
        .init("1 delivery is dead: %", "1 Zustellung ist aufgegeben: %"),
        .init("% deliveries are dead: %", "% Zustellungen sind aufgegeben: %"),
        .init("1 delivery is held: %", "1 Zustellung ist zurückgehalten: %"),
        .init("% deliveries are held: %", "% Zustellungen sind zurückgehalten: %"),
        .init(
            "The connection % does not use the changed secrets: %",
            "Die Verbindung % verwendet die geänderten Zugangsdaten nicht: %"),
        .init(
            "The source % does not use the changed secrets: %", "Die Quelle % verwendet die geänderten Zugangsdaten nicht: %"),
        .init("The store failed: %", "Fehler im Speicher: %"),
        // Why a rule ran or did not.
        .init("`on` does not name `%`", "`on` nennt `%` nicht"),
        .init("`from` does not name the source `%`", "`from` nennt die Quelle `%` nicht"),
        .init("`on` requires changes that this event does not have", "`on` verlangt andere Änderungen, als dieses Ereignis hat"),
        .init("the event belongs to the schedule of another rule", "das Ereignis gehört zum Zeitplan einer anderen Regel"),
        .init("it is off (`enabled: false`)", "sie ist aus (`enabled: false`)"),
        .init("`when` is false", "`when` ist nicht erfüllt"),
        .init("`when` is unknown, because a part of it is null", "`when` ist nicht entscheidbar, weil ein Teil davon leer ist"),
        .init("`when` failed: %", "Fehler in `when`: %"),
        .init(
            "no entry of `on` for this type has a `when` that is true",
            "kein Eintrag von `on` für diesen Typ hat ein erfülltes `when`"),
        .init(
            "no `sequence` is recorded that was waiting for this event",
            "es ist keine `sequence` verzeichnet, die auf dieses Ereignis wartete"),
        .init("this event started `none` again, which waits until %", "mit diesem Ereignis begann `none` neu und wartet bis %"),
        .init(
            "`none` has no run for the time after this event: most likely a later event started it again",
            "`none` hat keinen Lauf für die Zeit nach diesem Ereignis: wohl begann es mit einem späteren neu"),
        .init(
            "`%` was due at %, and comes with the agent's next poll",
            "`%` war um % fällig und kommt mit der nächsten Abfrage des Agenten"),
        .init("`%` was due at %, and comes once an agent runs", "`%` war um % fällig und kommt, sobald ein Agent läuft"),
        .init(
            "`%` was due at %, and comes once the rule is resumed", "`%` war um % fällig und kommt, sobald die Regel weiterläuft"),
        .init(
            "`for` had begun before, with event % at %, and the rule had run: `for` begins again when `when` has been false",
            "`for` hatte vorher begonnen, mit Ereignis % um %, und die Regel war gelaufen: `for` beginnt neu, sobald `when` nicht erfüllt war"
        ),
        .init("`%` had begun before, with event % at %", "`%` hatte vorher begonnen, mit Ereignis % um %"),
        .init("`%` waits until %", "`%` wartet bis %"),
        .init(
            "no absence is recorded that this event ended",
            "es ist kein Warten auf Ausbleiben verzeichnet, das dieses Ereignis beendet hätte"),
        .init("no rule has seen the event yet", "noch keine Regel hat das Ereignis gesehen"),
        .init("the rule was paused since %", "die Regel war seit % angehalten"),
        .init("the rule was paused when the event came", "die Regel war angehalten, als das Ereignis kam"),
        .init("the event is older than the rule", "das Ereignis ist älter als die Regel"),
        .init("the event is older than the rule, which was added at %", "das Ereignis ist älter als die Regel (hinzugefügt %)"),
        .init("the rule is in the files, but not in force yet", "die Regel steht in den Dateien, gilt aber noch nicht"),
        .init(
            "its text allows the run; if something stopped it, the record is gone",
            "ihr Text erlaubt den Lauf; falls etwas ihn verhinderte, ist es nicht mehr gespeichert"),
        .init(
            "by its text it could have run at the time of the event, but no run is recorded",
            "nach ihrem Text hätte sie zur Zeit des Ereignisses laufen können, aber es ist kein Lauf gespeichert"),
        .init(
            "the task is not among those for which the rule is live (`canary`), so its deliveries are only recorded",
            "für diese Aufgabe ist die Regel nicht live (`canary`), ihre Zustellungen werden nur aufgezeichnet"),
        .init(
            "it is in shadow mode, so its deliveries are only recorded",
            "sie ist im Schatten, ihre Zustellungen werden nur aufgezeichnet"),
        .init("a silence kept everything back", "eine Stummschaltung hielt alles zurück"),
        .init("a quiet time keeps everything back until it ends", "eine Ruhezeit hält alles bis zu ihrem Ende zurück"),
        .init("a quiet time dropped everything", "in der Ruhezeit entfiel alles"),
        .init(
            "the rule has changed since; this is what its earlier version did",
            "die Regel wurde seither geändert; das ist, was ihre frühere Fassung tat"),
        // Why something was refused.
        .init("There is no such page.", "Diese Seite gibt es nicht."),
        .init(
            "Send a token of the console as `Authorization: Bearer TOKEN`, or log in at /login.",
            "Senden Sie ein Token der Konsole als `Authorization: Bearer TOKEN`, oder melden Sie sich unter /login an."),
        .init("This address is for %, not for %.", "Diese Adresse ist für %, nicht für %."),
        .init(
            "The form is out of date, or came from another site. Open the page again.",
            "Das Formular ist veraltet oder kam von einer anderen Seite. Öffnen Sie die Seite neu."),
        .init("The request came from another site.", "Die Anfrage kam von einer anderen Seite."),
        .init("This needs the role `%`; yours is `%`.", "Dafür ist die Rolle `%` nötig; Ihre ist `%`."),
        .init("The request came from another site, %.", "Die Anfrage kam von einer anderen Seite, %."),
        .init(
            "This login was begun in another browser, or too long ago. Log in again.",
            "Diese Anmeldung wurde in einem anderen Browser oder vor zu langer Zeit begonnen. Melden Sie sich erneut an."),
        .init("% did not log you in: %.", "% hat Sie nicht angemeldet: %."),
        .init(
            "Your account, %, has no role in this console: `openid` in bellhop.yaml gives roles.",
            "Ihr Konto, %, hat keine Rolle in dieser Konsole: `openid` in bellhop.yaml gibt Rollen."),
        .init("The form names no command.", "Das Formular nennt keinen Befehl."),
        .init(
            "The file was changed meanwhile: read it again, and make your change there. Nothing was saved.",
            "Die Datei wurde inzwischen geändert: Lesen Sie sie neu, und ändern Sie sie dort. Nichts wurde gespeichert."),
        .init(
            "The delivery was changed meanwhile: read it again, and make your change there. Nothing was stored.",
            "Die Zustellung wurde inzwischen geändert: Lesen Sie sie neu, und ändern Sie sie dort. Nichts wurde gespeichert."),
        .init(
            "There is a file % already: choose another name. Nothing was saved.",
            "Es gibt schon eine Datei %: Wählen Sie einen anderen Namen. Nichts wurde gespeichert."),
        .init("The file of the rule, %, cannot be read now.", "Die Datei der Regel, %, ist gerade nicht lesbar."),
        .init("The text has more than % KB.", "Der Text hat mehr als % KB."),
        .init("The body has more than % MB.", "Die Anfrage hat mehr als % MB."),
        .init(
            "The body did not arrive completely: send it again.", "Die Anfrage kam nicht vollständig an: Senden Sie sie erneut."),
        .init(
            "`file` is the path of a rule file, such as rules/a.yaml.", "`file` ist der Pfad einer Regeldatei, etwa rules/a.yaml."
        ),
        .init("The path of the file is too long.", "Der Pfad der Datei ist zu lang."),
        .init("The name of a rule file ends with .yaml: % does not.", "Der Name einer Regeldatei endet mit .yaml, % nicht."),
        .init("The name of a rule file has at most % bytes.", "Der Name einer Regeldatei hat höchstens % Bytes."),
        .init(
            "The name % has characters that are not shown, such as line ends.",
            "Der Name % hat unsichtbare Zeichen, etwa Zeilenenden."),
        .init(
            "A file whose name ends with .test.yaml has tests, not rules.",
            "Eine Datei, deren Name mit .test.yaml endet, hat Tests, keine Regeln."),
        .init(
            "A file named bellhop.yaml has a configuration, not rules.",
            "Eine Datei mit dem Namen bellhop.yaml hat eine Konfiguration, keine Regeln."),
        .init(
            "The agent reads no hidden files: % begins with a dot.",
            "Der Agent liest keine versteckten Dateien: % beginnt mit einem Punkt."),
        .init(
            "The agent reads no rules from %: make the file in %.",
            "Der Agent liest keine Regeln aus %: Legen Sie die Datei in % an."),
        .init("The agent reads no rules from %.", "Der Agent liest keine Regeln aus %."),
        .init("There is no folder %.", "Es gibt keinen Ordner %."),
        .init("There are no rules in the files.", "In den Dateien stehen keine Regeln."),
        .init("`since` is a span of time such as 7d.", "`since` ist eine Zeitspanne wie 7d."),
        .init("This console cannot try rules.", "Diese Konsole kann keine Regeln ausprobieren."),
        .init(
            "% back-tests are waiting already: try again when one of them has run.",
            "% Rückblick-Tests warten schon: Versuchen Sie es erneut, wenn einer davon gelaufen ist."),
        .init(
            "It took more than % minutes: choose a shorter time, or fewer rules.",
            "Er dauerte länger als % Minuten: Wählen Sie einen kürzeren Zeitraum oder weniger Regeln."),
        .init(
            "% other requests check or test rules now. Try again later.",
            "% andere Anfragen prüfen oder testen gerade Regeln. Versuchen Sie es später erneut."),
        .init(
            "Several have an id that begins with `%`. Give more of it.",
            "Mehrere haben eine Kennung, die mit `%` beginnt. Geben Sie mehr davon an."),
        .init("No active or future silence has the id `%`.", "Keine laufende oder künftige Stummschaltung hat die Kennung `%`."),
        .init(
            "Nothing is saved here: `console.edit: true` in bellhop.yaml allows it.",
            "Hier wird nichts gespeichert: `console.edit: true` in bellhop.yaml erlaubt es."),
        .init("Saving needs the role `admin`.", "Zum Speichern ist die Rolle `admin` nötig."),
        .init(
            "This token is not known. `bellhop console token add NAME` makes one.",
            "Dieses Token ist nicht bekannt. `bellhop console token add NAME` erzeugt eines."),
        .init(
            "Too many wrong tokens came from this address. Check the token, wait, then try again.",
            "Zu viele falsche Tokens kamen von dieser Adresse. Prüfen Sie das Token, warten Sie, und versuchen Sie es erneut."),
        .init(
            "The reason has % bytes, and a reason has at most %: shorten it.",
            "Der Grund hat % Bytes, und ein Grund hat höchstens %: Kürzen Sie ihn."),
        .init("`for` is how long the silence lasts, such as 4h.", "`for` ist die Dauer der Stummschaltung, etwa 4h."),
        .init(
            "A silence ends after it begins, and after now.",
            "Eine Stummschaltung endet nach ihrem Beginn und nicht in der Vergangenheit."),
        .init("There is no rule `%`: did you mean `%`?", "Es gibt keine Regel `%`: meinten Sie `%`?"),
        .init("There is no rule `%`.", "Es gibt keine Regel `%`."),
        .init("There is no connection `%`: did you mean `%`?", "Es gibt keine Verbindung `%`: meinten Sie `%`?"),
        .init("There is no connection `%`.", "Es gibt keine Verbindung `%`."),
        .init(
            "There is no event `%`, or it is no longer stored.", "Es gibt kein Ereignis `%`, oder es ist nicht mehr gespeichert."),
        .init(
            "There is no delivery `%`, or it is no longer stored.",
            "Es gibt keine Zustellung `%`, oder sie ist nicht mehr gespeichert."),
        .init("There is no delivery %.", "Es gibt keine Zustellung %."),
        .init(
            "Delivery % was changed, retried or dropped by someone else; your change was not stored.",
            "Die Zustellung % hat jemand anders geändert, wiederholt oder verworfen; Ihre Änderung wurde nicht gespeichert."),
        .init("There is no event `%`: did you mean `%`?", "Es gibt kein Ereignis `%`: meinten Sie `%`?"),
        .init("There is no event `%`: use %", "Es gibt kein Ereignis `%`: verwenden Sie %"),
        .init("No event is stored about a task `%`.", "Zu einer Aufgabe `%` ist kein Ereignis gespeichert."),
        .init(
            "There is no back-test `%`: reports are kept for an hour.",
            "Es gibt keinen Rückblick-Test `%`: Berichte werden eine Stunde lang aufbewahrt."),
        // Before the next sentence, which would match its end, too.
        .init("There is no parameter `%`; there are: %.", "Es gibt keinen Filter `%`; es gibt: %."),
        .init("There is no parameter `%`.", "Es gibt keinen Filter `%`."),
        .init("There is no parameter `%`: did you mean `%`?", "Es gibt keinen Filter `%`: meinten Sie `%`?"),
        .init("The parameter `%` is a span of time such as 7d.", "Der Filter `%` ist eine Zeitspanne wie 7d."),
        .init(
            "The parameter `%` is a number that an earlier answer gave.",
            "Der Filter `%` ist eine Zahl aus einer früheren Antwort."),
        .init("The parameter `%` is one of %.", "Der Filter `%` ist eines von: %."),
        .init("The parameter `%` is given more than once.", "Der Filter `%` steht mehrfach da."),
        .init("The rules are not loaded yet: try again.", "Die Regeln sind noch nicht geladen: versuchen Sie es erneut."),
        .init(
            "`%` has % bytes, and a condition has at most %: shorten it, or ask several times with a part of it",
            "`%` hat % Bytes, und eine Bedingung hat höchstens %: kürzen Sie sie, oder suchen Sie mehrmals mit einem Teil"),
    ]
}
