import BellhopCore
import Testing

@testable import BellhopConnectors

/// Conditions on times: compiled, and evaluated on our side as far as the result is certain.
@Suite struct TimeFilterTests {
    @Test(arguments: [
        (#"{"a": {"is_more_than": {"days": 3, "after": "b"}}}"#, "aMORETHANb@day@after@3"),
        (#"{"a": {"is_more_than": {"hours": 1, "before": "b.c"}}}"#, "aMORETHANb.c@hour@before@1"),
        (#"{"a": {"is_less_than": {"weeks": 2, "from": "b"}}}"#, "aLESSTHANb@week@before or after@2"),
        (#"{"a": {"is_less_than": {"quarters": 1, "after": "b"}}}"#, "aLESSTHANb@quarter@after@1"),
        (#"{"a": {"same_as": {"field": "b", "by": "day"}}}"#, "aSAMEASb@day"),
        (#"{"a": {"not_same_as": {"field": "b", "by": "month"}}}"#, "aNSAMEASb@month"),
        (#"{"a": {"same_as": {"field": "b"}}}"#, "aSAMEASb"),
        (#"{"a": {"date_part": {"weekday": "Monday"}}}"#, "aDATEPARTMonday@javascript:gs.datePart('dayofweek','monday','EE')"),
        (
            #"{"a": {"date_part": {"weekday": {"at_or_after": "monday"}}}}"#,
            "aDATEPARTMonday@javascript:gs.datePart('dayofweek','monday','GE')"
        ),
        (
            #"{"a": {"date_part": {"month": {"at_or_before": "january"}}}}"#,
            "aDATEPARTJanuary@javascript:gs.datePart('month','jan','LE')"
        ),
        (#"{"a": {"date_part": {"month": "june"}}}"#, "aDATEPARTJune@javascript:gs.datePart('month','june','EE')"),
        (
            #"{"a": {"date_part": {"quarter": {"after": 1}}}}"#,
            "aDATEPARTQuarter 1@javascript:gs.datePart('quarter','1','GT')"
        ),
        (#"{"a": {"date_part": {"year": {"before": 2015}}}}"#, "aDATEPART2015@javascript:gs.datePart('year','2015','LT')"),
        (#"{"a": {"date_part": {"week": {"on": 0}}}}"#, "aDATEPARTWeek 0@javascript:gs.datePart('week','0','EE')"),
        (#"{"a": {"date_part": {"hour": 12}}}"#, "aDATEPARTNoon hour@javascript:gs.datePart('hour','12','EE')"),
        (#"{"a": {"date_part": {"hour": 0}}}"#, "aDATEPARTMidnight hour@javascript:gs.datePart('hour','0','EE')"),
        (#"{"a": {"date_part": {"hour": 15}}}"#, "aDATEPART3 pm hour@javascript:gs.datePart('hour','15','EE')"),
        (#"{"a": {"relative": {"after": {"hours_ago": 1}}}}"#, "aRELATIVEGT@hour@ago@1"),
        (#"{"a": {"relative": {"at_or_after": {"minutes_ahead": 60}}}}"#, "aRELATIVEGE@minute@ahead@60"),
        (#"{"a": {"relative": {"before": {"days_ago": 90}}}}"#, "aRELATIVELT@dayofweek@ago@90"),
        (#"{"a": {"relative": {"at_or_before": {"quarters_ago": 2}}}}"#, "aRELATIVELE@quarter@ago@2"),
        (#"{"a": {"relative": {"on": {"years_ago": 1}}}}"#, "aRELATIVEEE@year@ago@1"),
    ])
    func `a condition on times is compiled to its encoded query`(_ json: String, _ expected: String) throws {
        let query = try Filter(try JSON.parse(json)).query
        #expect(query.text == expected)
        #expect(try EncodedQuery(parsing: expected) == query)
    }

    @Test(arguments: [
        (#"{"is_more_than": 3}"#, "`is_more_than` takes a number of"),
        (#"{"is_more_than": {"days": 3}}"#, "`is_more_than` takes"),
        (#"{"is_more_than": {"days": -3, "after": "b"}}"#, "`days` is a number from 0 to 100000"),
        (#"{"is_less_than": {"days": 3, "after": "b^NQc=1"}}"#, "this is not a field name"),
        (#"{"same_as": {"field": "b", "by": "decade"}}"#, "`by` is `hour`"),
        (#"{"same_as": {"field": "b^", "by": "day"}}"#, "this is not a field name"),
        (#"{"date_part": {"weekday": "funday"}}"#, "this is not a valid weekday"),
        (#"{"date_part": {"month": 3}}"#, "this is not a valid month"),
        (#"{"date_part": {"week": 54}}"#, "this is not a valid week"),
        (#"{"date_part": "monday"}"#, "`date_part` takes one of"),
        (#"{"date_part": {"hour": {"around": 3}}}"#, "this is not a part of a date"),
        (#"{"relative": {"after": 3}}"#, "`relative` takes one of"),
        (#"{"relative": {"hours_ago": 3}}"#, "`relative` takes one of"),
        (#"{"relative": {"after": {"day_ago": 3}}}"#, "`day_ago` is not a way to write a value"),
    ])
    func `a mistake in a condition on times is reported`(_ json: String, _ message: String) throws {
        let condition = try JSON.parse(json)
        do throws(SettingComplaints) {
            _ = try Filter(["a": condition])
            Issue.record("\(json) was accepted")
        } catch { #expect(error.all.first?.message.hasPrefix(message) == true, "\(error.all)") }
    }

    @Test(arguments: [
        // Field a is 2026-01-05 09:00, a Monday; b is three days and one hour earlier, c the same minute.
        ("aMORETHANb@day@after@2", Truth.matches), ("aMORETHANb@day@after@4", .fails), ("aMORETHANb@day@after@3", .unknown),
        ("aMORETHANb@hour@after@72", .matches), ("aMORETHANb@hour@after@73", .unknown), ("aMORETHANb@hour@before@1", .fails),
        ("bMORETHANa@day@before@2", .matches), ("aMORETHANb@day@before or after@4", .fails),
        ("aMORETHANb@month@after@0", .matches), ("aMORETHANb@month@after@1", .fails), ("aMORETHANb@moon@after@1", .unknown),
        ("aLESSTHANb@day@after@4", .matches), ("aLESSTHANb@day@after@2", .fails), ("aLESSTHANb@day@before@2", .unknown),
        ("aMORETHANd@day@after@2", .unknown), ("aMORETHANe@day@after@2", .unknown),
        ("aSAMEASc@day", .matches), ("aSAMEASb@day", .fails), ("aSAMEASb@week", .unknown), ("aNSAMEASb@day", .matches),
        ("aDATEPARTx@javascript:gs.datePart('dayofweek','wednesday','EE')", .fails),
        ("aDATEPARTx@javascript:gs.datePart('dayofweek','monday','EE')", .unknown),
        ("aDATEPARTx@javascript:gs.datePart('dayofweek','wednesday','GE')", .unknown),
        ("aDATEPARTx@javascript:gs.datePart('month','jan','EE')", .matches),
        ("aDATEPARTx@javascript:gs.datePart('month','feb','GE')", .fails),
        ("aDATEPARTx@javascript:gs.datePart('year','2026','EE')", .matches),
        ("aDATEPARTx@javascript:gs.datePart('quarter','1','GT')", .fails),
        ("fDATEPARTx@javascript:gs.datePart('year','2026','EE')", .unknown),
        ("aDATEPARTx@javascript:gs.datePart('hour','9','EE')", .unknown), ("aDATEPARTx@y", .unknown),
        ("aRELATIVEGT@hour@ago@1", .unknown),
    ])
    func `a condition on times has a verdict if it is the same in all time zones`(_ query: String, _ expected: Truth) throws {
        let row: JSON = [
            "a": "2026-01-05 09:00:00", "b": "2026-01-02 08:00:00", "c": "2026-01-05 09:00:00", "d": "", "e": "2026-01-02",
            "f": "2026-01-01 05:00:00",
        ]
        #expect(try EncodedQuery(parsing: query).judge(row) == expected)
    }
}
