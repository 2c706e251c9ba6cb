//! Operations of an update (SPARQL 1.1 Update section 3; grammar rules Update1 and what follows it).

use super::tree::NodeKind;
use super::{Parsed, Parser};

impl Parser<'_> {
    /// Prologue, and one operation with the `;` behind it, or none.
    pub(super) fn update_unit(&mut self) -> Parsed {
        let mark = self.mark();
        self.prologue()?;
        if self.token(0).is_some() {
            self.operation()?;
            self.eat(";");
        }
        if self.token(0).is_some() {
            return Err(self.unexpected("`;` or the end of the update"));
        }
        self.close(mark, NodeKind::Unit);
        Ok(())
    }

    /// Prologue, and nothing else.
    pub(super) fn prologue_alone(&mut self) -> Parsed {
        let mark = self.mark();
        self.prologue()?;
        if self.token(0).is_some() {
            return Err(self.unexpected("PREFIX, BASE or VERSION"));
        }
        self.close(mark, NodeKind::Unit);
        Ok(())
    }

    /// Update1.
    fn operation(&mut self) -> Parsed {
        let mark = self.mark();
        let kind = if self.eat_word("INSERT") {
            if !self.eat_word("DATA") {
                return self.modify_from(mark, false);
            }
            self.quads()?;
            NodeKind::InsertData
        } else if self.eat_word("DELETE") {
            if self.eat_word("DATA") {
                self.quads()?;
                NodeKind::DeleteData
            } else if self.eat_word("WHERE") {
                self.quads_of(false)?;
                NodeKind::DeleteWhere
            } else {
                return self.modify_from(mark, true);
            }
        } else if self.is_word("WITH") {
            let with = self.mark();
            self.bump();
            self.iri()?;
            self.close(with, NodeKind::With);
            return if self.eat_word("DELETE") {
                self.modify_from(mark, true)
            } else {
                self.expect_word("INSERT")?;
                self.modify_from(mark, false)
            };
        } else {
            self.management()?
        };
        self.close(mark, kind);
        Ok(())
    }

    /// Modify, from behind its first DELETE or INSERT.
    fn modify_from(&mut self, mark: super::Mark, deletes: bool) -> Parsed {
        let mut clause = self.mark();
        let mut inserts = !deletes;
        if deletes {
            self.quads()?;
            self.close(clause, NodeKind::DeleteClause);
            inserts = self.eat_word("INSERT");
            clause = self.mark();
        }
        if inserts {
            self.quads()?;
            self.close(clause, NodeKind::InsertClause);
        }
        while self.is_word("USING") {
            let using = self.mark();
            self.bump();
            let kind = if self.eat_word("NAMED") {
                NodeKind::FromNamed
            } else {
                NodeKind::From
            };
            self.iri()?;
            self.close(using, kind);
        }
        self.expect_word("WHERE")?;
        self.inner_group()?;
        self.close(mark, NodeKind::Modify);
        Ok(())
    }

    /// Operations on whole graphs (section 3.2), and LOAD.
    fn management(&mut self) -> Parsed<NodeKind> {
        const KINDS: [(&str, NodeKind); 7] = [
            ("LOAD", NodeKind::Load),
            ("CLEAR", NodeKind::Clear),
            ("DROP", NodeKind::Drop),
            ("CREATE", NodeKind::Create),
            ("ADD", NodeKind::Add),
            ("MOVE", NodeKind::Move),
            ("COPY", NodeKind::Copy),
        ];
        let mut kinds = KINDS.into_iter();
        let Some((_, kind)) = kinds.find(|(word, _)| self.is_word(word)) else {
            return Err(self
                .unexpected("INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE or COPY"));
        };
        self.bump();
        if self.is_word("SILENT") {
            self.leaf(NodeKind::Silent);
        }
        match kind {
            NodeKind::Load => {
                self.iri()?;
                if self.eat_word("INTO") {
                    self.expect_word("GRAPH")?;
                    self.iri()?;
                }
            }
            NodeKind::Clear | NodeKind::Drop => self.graphs()?,
            NodeKind::Create => {
                self.expect_word("GRAPH")?;
                self.iri()?;
            }
            _ => {
                self.graph_or_default()?;
                self.expect_word("TO")?;
                self.graph_or_default()?;
            }
        }
        Ok(kind)
    }

    /// GraphRefAll.
    fn graphs(&mut self) -> Parsed {
        if self.eat_word("GRAPH") {
            return self.iri();
        }
        let kind = if self.is_word("DEFAULT") {
            NodeKind::Default
        } else if self.is_word("NAMED") {
            NodeKind::Named
        } else if self.is_word("ALL") {
            NodeKind::All
        } else {
            return Err(self.unexpected("GRAPH and an IRI, DEFAULT, NAMED or ALL"));
        };
        self.leaf(kind);
        Ok(())
    }

    /// GraphOrDefault.
    fn graph_or_default(&mut self) -> Parsed {
        if self.is_word("DEFAULT") {
            self.leaf(NodeKind::Default);
            return Ok(());
        }
        self.eat_word("GRAPH");
        if !self.is_iri() {
            return Err(self.unexpected("DEFAULT, or the IRI of a graph"));
        }
        self.iri()
    }

    /// QuadData, and the QuadPattern of templates.
    fn quads(&mut self) -> Parsed {
        self.quads_of(true)
    }

    /// The same, or the QuadPattern of a `DELETE WHERE`.
    fn quads_of(&mut self, is_data: bool) -> Parsed {
        let mark = self.mark();
        if !self.is("{") {
            return Err(self.unexpected("`{`"));
        }
        self.bump();
        self.counts.is_data = is_data;
        // Triples need a dot before others, and none before or after a graph.
        let mut may_be_triples = true;
        while !self.is("}") {
            let quads = |parser: &mut Self| parser.some_quads(&mut may_be_triples);
            if self.attempt(quads, Self::is_at_triples)? {
                self.eat(".");
                may_be_triples = true;
            }
        }
        self.bump();
        self.counts.is_data = false;
        self.close(mark, NodeKind::Quads);
        Ok(())
    }

    fn some_quads(&mut self, may_be_triples: &mut bool) -> Parsed {
        if self.is_word("GRAPH") {
            self.graph_of_quads()?;
            self.eat(".");
            *may_be_triples = true;
            return Ok(());
        }
        if !*may_be_triples {
            self.missing(self.unexpected("`.`, `;`, `,`, GRAPH or `}`"))?;
        }
        self.triples(false)?;
        *may_be_triples = self.eat(".");
        Ok(())
    }

    /// QuadsNotTriples.
    fn graph_of_quads(&mut self) -> Parsed {
        let mark = self.mark();
        if !self.counts.is_data {
            self.link(2)?;
        }
        self.expect_word("GRAPH")?;
        self.variable_or_iri()?;
        self.template()?;
        self.close(mark, NodeKind::Graph);
        Ok(())
    }
}
